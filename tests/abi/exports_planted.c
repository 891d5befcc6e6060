/* What exports.cmake is to refuse: no note, a third export, and by its link options a library that not every machine has
 * and that it can't be unloaded. */
int qt_plugin_instance(void) { return 0; }
int tutti_get_plugin(void) { return 0; }
int one_too_many(void) { return 0; }
