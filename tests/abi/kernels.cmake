# Fails where object files compiled for an instruction set define anything outside their namespace: a linker could choose it
# for every processor.
#
#   cmake -DOBJECTS=<a.o;b.o…> -DNAMESPACE=<avx512> -P kernels.cmake
cmake_minimum_required(VERSION 3.25)

execute_process(COMMAND nm --demangle --defined-only ${OBJECTS} OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY)
string(REPLACE "[" "<" symbols "${symbols}")  # brackets and lists do not go together
string(REPLACE "]" ">" symbols "${symbols}")
string(REPLACE ";" "," symbols "${symbols}")
string(REPLACE "\n" ";" symbols "${symbols}")
list(FILTER symbols INCLUDE REGEX "^[0-9a-f]+ [A-Zuv] ")  # seen by other files
list(LENGTH symbols count)
list(FILTER symbols EXCLUDE REGEX "tutti::mamba2::${NAMESPACE}::|DW\\.ref\\.__gxx_personality_v0")
if(count EQUAL 0)
  message(FATAL_ERROR "the objects define nothing at all: ${OBJECTS}")
endif()
if(symbols)
  list(JOIN symbols "\n  " list)
  message(FATAL_ERROR "outside tutti::mamba2::${NAMESPACE}:\n  ${list}")
endif()
