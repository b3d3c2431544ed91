# Tests of the program on several ranks: with the MPI that Weft is built with, and with MPICH if it is installed as well.
add_executable(weft_with_faults mpi/weft_with_faults.cc)
target_link_libraries(weft_with_faults PRIVATE weft_program weft_mpi fmt::fmt)
weft_compile_options(weft_with_faults)
set(shim "")
if(NOT WEFT_SANITIZE)  # sanitizers must be the first library
  set(shim $<TARGET_FILE:weft_faults>)
  add_dependencies(weft_with_faults weft_faults)
endif()

# weft_mpi_tests(SUFFIX WEFT WITH_FAULTS LAUNCHER): adds the tests for one MPI.
function(weft_mpi_tests suffix weft with_faults launcher)
  set(folder ${CMAKE_CURRENT_SOURCE_DIR})
  add_test(NAME mpi_program${suffix} COMMAND bash ${folder}/mpi/program.sh ${weft} ${launcher} ${folder}/fixtures)
  # A few seconds here, longer in `./run check ranks`.
  add_test(NAME mpi_faults${suffix}
    COMMAND bash ${folder}/mpi/faults.sh ${with_faults} ${launcher} ${folder}/fixtures 15 1 ${shim})
  add_test(NAME mpi_network${suffix} COMMAND bash ${folder}/mpi/network.sh ${with_faults} ${launcher} ${folder}/fixtures)
  set_tests_properties(mpi_network${suffix} PROPERTIES SKIP_RETURN_CODE 77)
endfunction()
weft_mpi_tests("" $<TARGET_FILE:weft> $<TARGET_FILE:weft_with_faults> ${MPIEXEC_EXECUTABLE})
include(${CMAKE_CURRENT_LIST_DIR}/mpich.cmake)
if(TARGET weft_with_faults_mpich)
  weft_mpi_tests(_mpich $<TARGET_FILE:weft_with_faults_mpich> $<TARGET_FILE:weft_with_faults_mpich> ${WEFT_MPICH_LAUNCHER})
endif()
