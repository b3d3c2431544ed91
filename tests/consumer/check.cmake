# Installs the build into a fresh prefix, then configures, builds and runs the project in this folder against it.
#   cmake -DSOURCE=... -DBUILD=... -DTYPE=... -DCXX=... [-DLAUNCHER=...] [-DDEBUG_INFO=ON] -P check.cmake
set(work ${BUILD}/consumer)
set(prefix ${work}/prefix)
include(${SOURCE}/tests/consumer/check_headers.cmake)
include(${SOURCE}/tests/consumer/check_prefix.cmake)
file(REMOVE_RECURSE ${work})

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})

# Nothing that is installed may name a folder of this machine. Debug information does, by nature.
set(searched ${prefix})
if(DEBUG_INFO)
  set(searched --include=*.h --include=*.cmake ${prefix})
endif()
execute_process(COMMAND grep -rlF -e ${SOURCE}/ -e ${BUILD}/ ${searched}
  RESULT_VARIABLE result OUTPUT_VARIABLE found)
if(NOT result EQUAL 1)
  message(FATAL_ERROR "installed files name ${SOURCE} or ${BUILD}:\n${found}")
endif()

check_headers(${prefix} ${SOURCE} lone_headers)
list(JOIN lone_headers "," lone_headers)
check_prefix(${prefix} ${work} ${CXX} "${lone_headers}")

# As sources in another project: no tests, no programs. (./run check package also builds it.)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/subproject -B ${work}/subproject -G Ninja
    -DCMAKE_CXX_COMPILER=${CXX} -DFETCHCONTENT_SOURCE_DIR_WEFT=${SOURCE})

# The message that README.md shows is the one that users get.
run(${work}/build/wrong)
string(REGEX REPLACE "at [^\n]*wrong.cc" "at wrong.cc" output "${output}")
file(READ ${SOURCE}/README.md readme)
string(FIND "${readme}" "```\n${output}```" position)
if(position EQUAL -1)
  message(FATAL_ERROR "README.md does not show the message of tests/consumer/wrong.cc:\n${output}")
endif()
message(STATUS "consumer: installed, found, built and ran")
