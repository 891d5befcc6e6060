# Fails where the source tree breaks its own order: an include against the arrows, a plugin's name in the host, a drawer
# for odds and ends. Names every offender.
#
#   cmake -DROOT=<source tree> -P layering.cmake
cmake_minimum_required(VERSION 3.25)
file(REAL_PATH ${ROOT} ROOT)

# ---- The rules ------------------------------------------------------------------------------------------------------

# Who may include whom: a file, or the folder it lies in, and the beginnings of the paths in quotes that it may include, - for none.
# The longest match counts; @ is the name of the plugin. <tutti/plugin.h> and the libraries of others are for all.
set(MAY_INCLUDE
  "plugin_api       : -"
  "shared           : shared/"
  "plugins/@        : shared/ plugins/@/"
  "host/main.cpp    : host/cli/"
  "host/text        : shared/ host/text/"
  "host/data        : shared/ host/text/ host/data/"
  "host/ensemble    : shared/ host/text/ host/ensemble/"
  "host/report      : shared/ host/text/ host/report/"
  "host/plugin      : shared/ host/text/ host/data/ host/plugin/"
  "host/config      : shared/ host/text/ host/data/ host/config/"
  "host/evaluate    : shared/ host/text/ host/data/ host/ensemble/ host/report/ host/plugin/ host/config/ host/evaluate/"
  "host/cli         : shared/ host/"
)

# What lies lower inside a plugin knows nothing of what stands on it: beginnings of paths on both sides.
set(MUST_NOT_INCLUDE
  "plugins/mamba2/kernels/ : plugins/mamba2/block plugins/mamba2/model plugins/mamba2/trainer plugins/mamba2/plugin"
  "plugins/mamba2/block    : plugins/mamba2/model plugins/mamba2/trainer plugins/mamba2/plugin"
  "plugins/mamba2/backbone : plugins/mamba2/model plugins/mamba2/language_model plugins/mamba2/trainer plugins/mamba2/plugin"
  "plugins/mamba2/model    : plugins/mamba2/trainer plugins/mamba2/plugin"
)

# A regular expression on lines : the beginnings of the paths that it is for : those that are excused, - for none : what is wrong.
set(MUST_NOT_CONTAIN
  "^[ \t]*#[ \t]*include[ \t]*<(Q[A-Z]|Qt) : plugin_api/ shared/ plugins/ : - : includes Qt, which is for host/ alone"
  "^[ \t]*#[ \t]*(if|ifdef|ifndef|elif)[^a-z].*(CUDA|HIP|SYCL|METAL|AVX|SSE|NEON|BLAS|BACKEND) : plugins/mamba2/ : plugins/mamba2/kernels/kernels.cpp plugins/mamba2/kernels/cpu/vector.h : asks for a backend, which kernels/kernels.cpp and kernels/cpu/vector.h alone do"
)

# Names of files (without extension) and folders that mean no idea was found.
set(DRAWERS "utils?|commons?|helpers?|misc")

# ---- Reading the tree -----------------------------------------------------------------------------------------------

function(violation path sentence)
  set_property(GLOBAL APPEND_STRING PROPERTY violations "${path}: ${sentence}\n")
endfunction()

# Sets out to the fields of a row of the tables.
function(fields row out)
  string(REGEX REPLACE " +: " ";" row "${row}")
  set(${out} "${row}" PARENT_SCOPE)
endfunction()

# Sets out to ON where text begins with one of the words.
function(begins_with text words out)
  set(${out} OFF PARENT_SCOPE)
  string(REPLACE " " ";" words "${words}")
  foreach(word IN LISTS words)
    string(FIND "${text}" "${word}" at)
    if(at EQUAL 0)
      set(${out} ON PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Sets out to what the file may include, from the row with the longest match; unset where there is none.
function(may_include path out)
  set(longest -1)
  unset(${out} PARENT_SCOPE)
  string(REGEX MATCH "^plugins/([^/]+)/" in_plugin ${path})
  set(plugin "${CMAKE_MATCH_1}")
  foreach(row IN LISTS MAY_INCLUDE)
    string(REPLACE "@" "${plugin}" row "${row}")
    fields("${row}" field)
    list(GET field 0 place)
    list(GET field 1 allowed)
    string(FIND "${path}/" "${place}/" at)
    string(LENGTH "${place}" length)
    if(at EQUAL 0 AND length GREATER longest)
      set(longest ${length})
      set(${out} "${allowed}" PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

function(check_includes path)
  file(STRINGS ${ROOT}/${path} includes REGEX "^[ \t]*#[ \t]*include[ \t]*\"")
  list(TRANSFORM includes REPLACE "^[^\"]*\"([^\"]*)\".*$" "\\1")
  may_include(${path} allowed)
  if(NOT DEFINED allowed)
    violation(${path} "lies where no rule of layering.cmake says what it may include")
    return()
  endif()
  foreach(include IN LISTS includes)
    begins_with("${include}" "${allowed}" lawful)
    if(NOT lawful)
      violation(${path} "includes \"${include}\"; it may include: ${allowed}")
    endif()
    foreach(row IN LISTS MUST_NOT_INCLUDE)
      fields("${row}" field)
      list(GET field 0 lower)
      list(GET field 1 higher)
      begins_with("${path}" "${lower}" is_lower)
      begins_with("${include}" "${higher}" is_higher)
      if(is_lower AND is_higher)
        violation(${path} "includes \"${include}\", which stands above it")
      endif()
    endforeach()
  endforeach()
endfunction()

function(check_lines path)
  foreach(row IN LISTS MUST_NOT_CONTAIN)
    fields("${row}" field)
    list(GET field 0 pattern)
    list(GET field 1 places)
    list(GET field 2 excused)
    list(GET field 3 sentence)
    begins_with("${path}" "${places}" concerned)
    begins_with("${path}" "${excused}" is_excused)
    if(concerned AND NOT is_excused)
      file(STRINGS ${ROOT}/${path} found REGEX "${pattern}")
      if(NOT found STREQUAL "")
        violation(${path} "${sentence}: ${found}")
      endif()
    endif()
  endforeach()
endfunction()

# The product never reads the folder shared beside the checkout: a way up to shared/ must arrive in this tree's own.
function(check_ways_up path)
  file(STRINGS ${ROOT}/${path} lines REGEX "\\.\\./shared")
  get_filename_component(folder ${ROOT}/${path} DIRECTORY)
  foreach(line IN LISTS lines)
    string(REGEX MATCHALL "(\\.\\./)+shared[A-Za-z0-9_./-]*" ways "${line}")
    foreach(way IN LISTS ways)
      get_filename_component(target ${folder}/${way} ABSOLUTE)
      string(FIND "${target}" "${ROOT}/" at)
      if(NOT at EQUAL 0 OR NOT EXISTS ${target})
        violation(${path} "refers to ${way}, outside of the source tree")
      endif()
    endforeach()
  endforeach()
endfunction()

function(check_name path)
  string(REGEX REPLACE "\\.[^/.]*$" "" stem ${path})
  if("/${stem}/" MATCHES "/(${DRAWERS})/")
    violation(${path} "is called ${CMAKE_MATCH_1}; find the idea and call it by that")
  endif()
endfunction()

# The names that the host may not know: the plugins' folders and the ids of libraries and model types in their sources.
function(plugin_names out)
  set(names "")
  foreach(path ${ARGN})
    if(path MATCHES "^plugins/([^/]+)/")
      list(APPEND names ${CMAKE_MATCH_1})
      file(STRINGS ${ROOT}/${path} lines REGEX "\"tutti\\.[a-z0-9-]+\"")
      string(REGEX MATCHALL "\"tutti\\.[a-z0-9-]+\"" ids "${lines}")
      string(REPLACE "\"" "" ids "${ids}")
      list(APPEND names ${ids})
    endif()
  endforeach()
  list(REMOVE_DUPLICATES names)
  set(${out} "${names}" PARENT_SCOPE)
endfunction()

function(check_plugin_names path names)
  file(READ ${ROOT}/${path} text)
  foreach(name IN LISTS names)
    string(REPLACE "." "\\." pattern "${name}")
    if(text MATCHES "(^|[^A-Za-z0-9_-])${pattern}($|[^A-Za-z0-9_-])")
      violation(${path} "knows the plugin name ${name}; the host finds plugins by scanning folders")
    endif()
  endforeach()
endfunction()

# ---- The check ------------------------------------------------------------------------------------------------------

file(GLOB_RECURSE product LIST_DIRECTORIES false RELATIVE ${ROOT}
  ${ROOT}/plugin_api/* ${ROOT}/shared/* ${ROOT}/plugins/* ${ROOT}/host/*)
file(GLOB top LIST_DIRECTORIES false RELATIVE ${ROOT} ${ROOT}/*.md ${ROOT}/CMakeLists.txt)
list(APPEND product ${top})
file(GLOB_RECURSE tests LIST_DIRECTORIES false RELATIVE ${ROOT} ${ROOT}/tests/*)
set(sources ${product})
list(FILTER sources INCLUDE REGEX "\\.(h|c|cpp|cu|cuh)$")
plugin_names(names ${sources})

foreach(path IN LISTS product tests)
  check_name(${path})
endforeach()
foreach(path IN LISTS product)
  check_ways_up(${path})
endforeach()
foreach(path IN LISTS sources)
  check_includes(${path})
  check_lines(${path})
  if(path MATCHES "^host/")
    check_plugin_names(${path} "${names}")
  endif()
endforeach()

list(LENGTH sources count)
get_property(violations GLOBAL PROPERTY violations)
if(violations)
  message("${violations}")
  message(FATAL_ERROR "The tree breaks its order, as said above.")
endif()
if(count EQUAL 0)
  message(FATAL_ERROR "${ROOT} holds no sources; -DROOT= must name the source tree")
endif()
message(STATUS "${count} sources in order; the host knows none of: ${names}")
