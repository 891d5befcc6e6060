/* The header and its metadata by themselves; lawful C and C++. */
#include <tutti/plugin.h>

TUTTI_METADATA("org.example.alone", "1.0.0");
