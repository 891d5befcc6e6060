# Reads a built plugin's metadata as Qt's plugin loader does, from the note .note.qt.metadata and without running the
# plugin, and fails where it isn't what the contract says.
#
#   cmake -DLIBRARY=<plugin.so> [-DID=<library id>] -P note.cmake
cmake_minimum_required(VERSION 3.25)

function(fail sentence)
  message(FATAL_ERROR "${LIBRARY}: ${sentence}")
endfunction()

# ---- The note's bytes -------------------------------------------------------------------------------------------------

execute_process(COMMAND readelf --wide --notes --program-headers ${LIBRARY} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
if(NOT text MATCHES "qt-project! [^\n]*0x74510001[^\n]*description data: ([0-9a-f ]+)")
  fail("there is no note of Qt's kind; say TUTTI_METADATA(id, version) once in it")
endif()
string(REGEX MATCHALL "[0-9a-f][0-9a-f]" bytes "${CMAKE_MATCH_1}")
if(NOT text MATCHES "  NOTE [^\n]* R   0x8\n")
  fail("no segment of notes is aligned to 8 bytes")
endif()

# ---- CBOR: maps of unknown length, texts of 16-bit length, integers of at most 8 bits -----------------------------------

# Takes count bytes off the front.
macro(take count out)
  list(LENGTH bytes left)
  if(left LESS ${count})
    fail("its metadata ends too early")
  endif()
  list(SUBLIST bytes 0 ${count} ${out})
  math(EXPR left "${left} - ${count}")
  if(left)
    list(SUBLIST bytes ${count} -1 bytes)
  else()
    set(bytes "")
  endif()
endmacro()

# Takes an item off the front, as text.
macro(take_item out)
  take(1 head)
  if(head STREQUAL 79)
    take(2 length)
    list(JOIN length "" length)
    math(EXPR length 0x${length})
    take(${length} letters)
    set(${out} "")
    foreach(letter IN LISTS letters)
      math(EXPR code 0x${letter})
      string(ASCII ${code} letter)
      string(APPEND ${out} "${letter}")
    endforeach()
  elseif(head STREQUAL 18)
    take(1 number)
    math(EXPR ${out} 0x${number})
  elseif(head MATCHES "^0[0-9]$")
    math(EXPR ${out} 0x${head})
  else()
    fail("its metadata holds the byte ${head} where an item was to begin")
  endif()
endmacro()

# Takes a map off the front: PREFIX_key for each of its keys; a map inside it is marked by its keys alone.
macro(take_map prefix)
  take(1 head)
  if(NOT head STREQUAL bf)
    fail("its metadata holds the byte ${head} where a map was to begin")
  endif()
  while(NOT bytes MATCHES "^ff")
    take_item(key)
    if(bytes MATCHES "^bf")
      take_map(${prefix}_${key})
    else()
      take_item(${prefix}_${key})
    endif()
  endwhile()
  take(1 head)
endmacro()

take(4 version)
if(NOT version STREQUAL "01;06;00;00")
  fail("its metadata begins with ${version}, not with version 1 and Qt 6.0")
endif()
take_map(note)
if(bytes)
  fail("its metadata goes on after its end: ${bytes}")
endif()

# ---- What it says -----------------------------------------------------------------------------------------------------

function(expect name value wanted)
  if(NOT value MATCHES "^(${wanted})$")
    fail("its metadata has the ${name} \"${value}\", not ${wanted}")
  endif()
endfunction()

if(NOT ID)
  set(ID "[a-z0-9.-]+")
endif()
expect(interface "${note_2}" "tutti\\.plugin/1")
expect("class name" "${note_3}" "${ID}")
expect(id "${note_4_id}" "${ID}")
expect(version "${note_4_version}" "[0-9]+\\.[0-9]+\\.[0-9]+")
expect("contract's major version" "${note_4_abi_major}" "1")
expect("contract's minor version" "${note_4_abi_minor}" "[0-9]+")
message(STATUS "${LIBRARY}: ${note_4_id} ${note_4_version} for ${note_2}, contract ${note_4_abi_major}.${note_4_abi_minor}")
