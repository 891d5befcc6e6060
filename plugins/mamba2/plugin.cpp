#include "plugins/mamba2/mamba2.h"

TUTTI_DEFINE_PLUGIN("tutti.mamba2", "0.1.0", tutti::mamba2::Mamba2);
