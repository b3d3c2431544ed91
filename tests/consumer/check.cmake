# Installs the build into a fresh prefix, then configures, builds and runs the project in this folder against it:
#   cmake -DSOURCE=... -DBUILD=... -DTYPE=... -DCXX=... [-DLAUNCHER=...] [-DDEBUG_INFO=ON] -P check.cmake
set(work ${BUILD}/consumer)
# Programs that link libraries built with sanitizers must be linked with them, too.
if(SANITIZE)
  set(ENV{LDFLAGS} -fsanitize=${SANITIZE})
endif()
set(prefix ${work}/prefix)
include(${SOURCE}/tests/consumer/check_headers.cmake)
include(${SOURCE}/tests/consumer/check_prefix.cmake)
file(REMOVE_RECURSE ${work})

run(${CMAKE_COMMAND} --install ${BUILD} --prefix ${prefix})
check_paths(${prefix})
check_documents(${prefix})
check_headers(${prefix} ${SOURCE} lone_headers)
list(JOIN lone_headers "," lone_headers)
check_prefix(${prefix} ${work} ${CXX} "${lone_headers}")

# After `./run build`, weft::testing has not been built: it is omitted. If a library that programs need is missing, nothing is installed.
# A copy of the installation script, in which the name of the library is different, simulates that.
file(READ ${BUILD}/cmake_install.cmake script)
foreach(library testing ops)
  string(REPLACE "libweft_${library}." "libweft_absent." changed "${script}")
  file(WRITE ${work}/install_without_${library}.cmake "${changed}")
endforeach()
run(${CMAKE_COMMAND} -DCMAKE_INSTALL_PREFIX=${work}/without_testing -P ${work}/install_without_testing.cmake)
file(GLOB_RECURSE left ${work}/without_testing/*weft*testing*.cmake ${work}/without_testing/*weft-testing.pc)
file(GLOB_RECURSE found ${work}/without_testing/*libweft_models* ${work}/without_testing/*weftConfig.cmake)
list(LENGTH found count)
if(left OR count LESS 2)
  message(FATAL_ERROR "without weft::testing, the installation contains ${left} and ${found}")
endif()
execute_process(COMMAND ${CMAKE_COMMAND} -DCMAKE_INSTALL_PREFIX=${work}/without_ops -P ${work}/install_without_ops.cmake
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "nothing is installed: run" OR EXISTS ${work}/without_ops)
  message(FATAL_ERROR "an incomplete build is not reported before the installation:\n${output}")
endif()

# find_package names a library that a static Weft needs and that is not installed.
file(STRINGS ${BUILD}/CMakeCache.txt highway REGEX "^HWY_LIBRARY:")
string(REGEX REPLACE "^[^=]*=" "" highway "${highway}")
get_filename_component(folder "${highway}" DIRECTORY)
get_filename_component(real_folder "${folder}" REALPATH)
string(REGEX REPLACE "^/usr/" "/" other_folder "${folder}")  # the same folder if /lib is a link to /usr/lib
execute_process(COMMAND ${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/parts -B ${work}/without_highway -G Ninja
  -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} "-DCMAKE_IGNORE_PATH=${folder};${real_folder};${other_folder};/lib;/usr/lib;/lib64"
  RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
string(REGEX REPLACE "[ \n]+" " " output "${output}")
if(result EQUAL 0 OR NOT output MATCHES "weft::ops needs the library hwy, which is not found")
  message(FATAL_ERROR "find_package(weft) does not report that Highway is missing:\n${output}")
endif()

# As sources of another project: no tests, no programs. (./run check package also builds it.)
run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/subproject -B ${work}/subproject -G Ninja
    -DCMAKE_CXX_COMPILER=${CXX} -DFETCHCONTENT_SOURCE_DIR_WEFT=${SOURCE})

# Mistakes in calls of weft_precompiled_headers are reported.
function(check_precompiled name lines expected)
  file(WRITE ${work}/precompiled/${name}/CMakeLists.txt "cmake_minimum_required(VERSION 3.25)
project(precompiled LANGUAGES CXX)
find_package(weft REQUIRED)
${lines}
")
  execute_process(COMMAND ${CMAKE_COMMAND} -S ${work}/precompiled/${name} -B ${work}/precompiled/${name}/build -G Ninja
    -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_CXX_COMPILER=${CXX} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  string(REGEX REPLACE "[ \n]+" " " output "${output}")
  if(result EQUAL 0 OR NOT output MATCHES "${expected}")
    message(FATAL_ERROR "weft_precompiled_headers does not report \"${expected}\":\n${output}")
  endif()
endfunction()
check_precompiled(absent "weft_precompiled_headers(absent)" "there is no target \"absent\": call it after add_executable")
check_precompiled(interface "add_library(i INTERFACE)\nweft_precompiled_headers(i)" "\"i\" has no source files to compile")
check_precompiled(imported "weft_precompiled_headers(weft::weft)" "\"weft::weft\" has no source files to compile")
check_precompiled(twice "file(WRITE a.cc \"\")\nadd_library(a OBJECT a.cc)\nweft_precompiled_headers(a)\nweft_precompiled_headers(a)"
  "called twice for \"a\": pass all headers in one call")

# README.md shows the error message that users get.
run(${work}/build/wrong)
string(REGEX REPLACE "at [^\n]*wrong.cc" "at wrong.cc" output "${output}")
file(READ ${SOURCE}/README.md readme)
string(FIND "${readme}" "```\n${output}```" position)
if(position EQUAL -1)
  message(FATAL_ERROR "README.md does not show the message of tests/consumer/wrong.cc:\n${output}")
endif()
message(STATUS "consumer: installed, found, built and run")
