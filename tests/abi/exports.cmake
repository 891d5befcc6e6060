# Fails unless a built plugin shows the world exactly what the contract says: two functions, the metadata note, no
# libraries but those that every machine of the kind has, and nothing that keeps it from being unloaded or shared.
#
#   cmake -DLIBRARY=<plugin.so> -P exports.cmake
cmake_minimum_required(VERSION 3.25)

set(EXPORTS qt_plugin_instance tutti_get_plugin)

# Regular expressions on sonames. BLAS, CUDA and sanitizers are there only in builds that ask for them.
set(NEEDED_ALLOWED
  "libc\\.so\\.6" "libm\\.so\\.6" "libstdc\\+\\+\\.so\\.6" "libgcc_s\\.so\\.1" "ld-linux-.*"
  "libopenblas\\.so\\.0" "libcuda\\.so\\.1" "libcudart\\.so\\..*" "libcublas(Lt)?\\.so\\..*"
  "lib[atu]b?san\\.so\\..*"
)

function(read_elf out)
  execute_process(COMMAND readelf --wide ${ARGN} ${LIBRARY} OUTPUT_VARIABLE text ERROR_VARIABLE error RESULT_VARIABLE failed)
  if(failed)
    message(FATAL_ERROR "${LIBRARY}: readelf: ${error}")
  endif()
  set(${out} "${text}" PARENT_SCOPE)
endfunction()

# The lines of text that match.
function(lines_with pattern text out)
  string(REPLACE ";" "," text "${text}")
  string(REPLACE "[" "<" text "${text}")  # brackets and lists do not go together
  string(REPLACE "]" ">" text "${text}")
  string(REPLACE "\n" ";" lines "${text}")
  list(FILTER lines INCLUDE REGEX "${pattern}")
  set(${out} "${lines}" PARENT_SCOPE)
endfunction()

set(wrong "")

# Num: Value Size Type Bind Vis Ndx Name
read_elf(symbols --dyn-syms)
lines_with(" (GLOBAL|WEAK|UNIQUE) +(DEFAULT|PROTECTED) +[0-9]+ " "${symbols}" defined)
list(TRANSFORM defined REPLACE "^.* ([^ ]+)$" "\\1" OUTPUT_VARIABLE names)
list(SORT names)
if(NOT names STREQUAL EXPORTS)
  string(APPEND wrong "\n  exports \"${names}\" and not exactly \"${EXPORTS}\"")
endif()
lines_with(" UNIQUE " "${symbols}" unique)
if(unique)
  string(APPEND wrong "\n  has unique symbols, with which dlclose never unloads it: ${unique}")
endif()

read_elf(dynamic --dynamic)
lines_with("TEXTREL" "${dynamic}" textrel)
if(textrel)
  string(APPEND wrong "\n  has text relocations; compile with -fPIC")
endif()
lines_with("NODELETE" "${dynamic}" nodelete)
if(nodelete)
  string(APPEND wrong "\n  refuses to be unloaded (NODELETE)")
endif()
lines_with("\\(NEEDED\\)" "${dynamic}" needed)
list(TRANSFORM needed REPLACE "^.*<(.*)>$" "\\1")
list(JOIN NEEDED_ALLOWED "|" allowed)
foreach(library IN LISTS needed)
  if(NOT library MATCHES "^(${allowed})$")
    string(APPEND wrong "\n  needs ${library}, which not every machine has")
  endif()
endforeach()

read_elf(notes --notes)
string(REGEX MATCH "qt-project!" owner "${notes}")
string(REGEX MATCH "0x74510001" kind "${notes}")
if(NOT owner OR NOT kind)
  string(APPEND wrong "\n  has no metadata note; say TUTTI_METADATA(id, version) once in it")
endif()

if(wrong)
  message(FATAL_ERROR "${LIBRARY}:${wrong}")
endif()
message(STATUS "${LIBRARY}: in order; needs ${needed}")
