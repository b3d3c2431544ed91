# The first model in README.md is tests/consumer/mlp.cc, and has at most 60 lines.
#   cmake -DSOURCE=... -P check_readme.cmake
file(READ ${SOURCE}/README.md readme)
file(READ ${SOURCE}/tests/consumer/mlp.cc model)
string(FIND "${readme}" "```cpp\n${model}```" position)
if(position EQUAL -1)
  message(FATAL_ERROR "README.md has no code block that equals tests/consumer/mlp.cc")
endif()
string(REGEX MATCHALL "\n" lines "${model}")
list(LENGTH lines count)
if(count GREATER 60)
  message(FATAL_ERROR "tests/consumer/mlp.cc has ${count} lines; 60 are promised")
endif()
