// Carries the precompiled catch.hpp; see tests/CMakeLists.txt.
int main() {}
