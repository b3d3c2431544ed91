# If MPICH is installed in addition to the MPI that Weft is built with (Debian: mpich, libmpich-dev): weft_with_faults_mpich, the program
# with fault injection, linked with a transport for MPICH. WEFT_MPICH_LAUNCHER starts it.
find_program(WEFT_MPICH_COMPILER mpicxx.mpich)
find_program(WEFT_MPICH_LAUNCHER mpiexec.mpich)
mark_as_advanced(WEFT_MPICH_COMPILER WEFT_MPICH_LAUNCHER)
if(NOT WEFT_MPICH_COMPILER OR NOT WEFT_MPICH_LAUNCHER OR MPI_CXX_LIBRARIES MATCHES "mpich")
  return()
endif()
execute_process(COMMAND ${WEFT_MPICH_COMPILER} -show -c x.cc OUTPUT_VARIABLE words)
separate_arguments(words UNIX_COMMAND "${words}")
set(folders ${words})
list(FILTER folders INCLUDE REGEX "^-I")
list(TRANSFORM folders REPLACE "^-I" "")
find_library(WEFT_MPICH_LIBRARY mpich)
mark_as_advanced(WEFT_MPICH_LIBRARY)

file(GLOB transport CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/core/mpi/*.cc)
add_executable(weft_with_faults_mpich mpi/weft_with_faults.cc ${transport})
target_include_directories(weft_with_faults_mpich SYSTEM PRIVATE ${folders})
# Links the file of weft_program instead of the target, which would add the other MPI.
add_dependencies(weft_with_faults_mpich weft_program)
target_link_libraries(weft_with_faults_mpich PRIVATE $<TARGET_FILE:weft_program> ${WEFT_MPICH_LIBRARY} weft_models
                      CLI11::CLI11 fmt::fmt)
weft_compile_options(weft_with_faults_mpich)
