#include "host/cli/command.h"

int main(int argc, char** argv) { return tutti::run_program(argc, argv); }
