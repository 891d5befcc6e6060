# Installs the contract into a fresh prefix, builds the example there as a stranger would, and looks at its exports.
#
#   cmake -DBUILD=<Tutti's build> -DEXAMPLE=<the example project> -DFOLDER=<scratch folder> -P package.cmake
cmake_minimum_required(VERSION 3.25)

function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE failed OUTPUT_VARIABLE said ERROR_VARIABLE said)
  if(failed)
    string(REPLACE ";" " " command "${ARGN}")
    message(FATAL_ERROR "${command}\n${said}")
  endif()
endfunction()

file(REMOVE_RECURSE ${FOLDER})
file(COPY ${EXAMPLE}/ DESTINATION ${FOLDER}/source)
run(${CMAKE_COMMAND} --install ${BUILD} --component plugin_api --prefix ${FOLDER}/prefix)
run(${CMAKE_COMMAND} -S ${FOLDER}/source -B ${FOLDER}/build -DCMAKE_PREFIX_PATH=${FOLDER}/prefix -DCMAKE_C_FLAGS=-Werror)
run(${CMAKE_COMMAND} --build ${FOLDER}/build)
run(${CMAKE_COMMAND} -DLIBRARY=${FOLDER}/build/last_value.so -P ${CMAKE_CURRENT_LIST_DIR}/exports.cmake)

# Another major version is refused.
file(READ ${FOLDER}/source/CMakeLists.txt project)
string(REPLACE "tutti_plugin_api 1.0" "tutti_plugin_api 2.0" project "${project}")
file(WRITE ${FOLDER}/source/CMakeLists.txt "${project}")
execute_process(COMMAND ${CMAKE_COMMAND} -S ${FOLDER}/source -B ${FOLDER}/build2 -DCMAKE_PREFIX_PATH=${FOLDER}/prefix
  RESULT_VARIABLE failed OUTPUT_QUIET ERROR_VARIABLE said)
if(NOT failed OR NOT said MATCHES "version: 1.0")
  message(FATAL_ERROR "a wish for version 2.0 is not refused as it should be:\n${said}")
endif()
