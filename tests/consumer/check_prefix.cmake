# run(COMMAND...) fails with the output of the command; check_prefix tries an installed Weft.
function(run)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE output)
  if(NOT result EQUAL 0)
    list(JOIN ARGN " " command)
    message(FATAL_ERROR "failed (${result}): ${command}\n${output}")
  endif()
  set(output "${output}" PARENT_SCOPE)
endfunction()

# check_prefix(PREFIX WORK CXX [headers separated by commas, to compile alone]): the projects in this folder are configured,
# built and tested in folders below WORK against what is installed in PREFIX. Uses SOURCE, TYPE and LAUNCHER.
function(check_prefix prefix work cxx headers)
  file(GLOB_RECURSE pkg_config ${prefix}/*/weft-graph.pc)
  get_filename_component(pkg_config "${pkg_config}" DIRECTORY)
  get_filename_component(libraries "${pkg_config}" DIRECTORY)
  set(ENV{PKG_CONFIG_PATH} ${pkg_config})
  # CMake's programs know where their libraries are; those of pkg-config's users must be told.
  set(ENV{LD_LIBRARY_PATH} ${libraries})
  set(arguments -G Ninja -DCMAKE_PREFIX_PATH=${prefix} -DCMAKE_BUILD_TYPE=${TYPE} -DCMAKE_CXX_COMPILER=${cxx}
    -DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER})
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer -B ${work}/build ${arguments} -DHEADERS=${headers})
  run(${CMAKE_COMMAND} --build ${work}/build -j 2)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${work}/build --output-on-failure)
  run(${CMAKE_COMMAND} -S ${SOURCE}/tests/consumer/parts -B ${work}/parts ${arguments})
  run(${CMAKE_COMMAND} --build ${work}/parts -j 2)
  run(${CMAKE_CTEST_COMMAND} --test-dir ${work}/parts --output-on-failure)
endfunction()
