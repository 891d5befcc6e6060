# find_package(tutti_plugin_api 1.0) gives the target tutti::plugin_api and the function tutti_plugin_link_rules.
include(${CMAKE_CURRENT_LIST_DIR}/tutti_plugin_apiTargets.cmake)
include(${CMAKE_CURRENT_LIST_DIR}/tutti_plugin_link_rules.cmake)
