# tutti_plugin_link_rules(TARGET)
# makes the module TARGET a plugin: it sees the contract, exports the contract's entry and nothing else, can be unloaded,
# and its file's name has no "lib" in front.
function(tutti_plugin_link_rules TARGET)
  set(exports ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/exports.map)
  target_link_libraries(${TARGET} PRIVATE tutti::plugin_api)
  target_compile_options(${TARGET} PRIVATE $<$<COMPILE_LANG_AND_ID:CXX,GNU>:-fno-gnu-unique>)  # else dlclose keeps it
  target_link_options(${TARGET} PRIVATE LINKER:--version-script=${exports})
  set_target_properties(${TARGET} PROPERTIES PREFIX "" LINK_DEPENDS ${exports})
endfunction()
