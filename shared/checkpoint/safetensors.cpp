#include "shared/checkpoint/safetensors.h"
