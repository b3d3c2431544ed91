# Installation: libraries, headers below include/weft, the program, documentation, a CMake package with a component per layer, and a
# pkg-config file per layer. The installation components libraries, development, documentation and program become Debian packages
# (weft_package.cmake).
include(CMakePackageConfigHelpers)

set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

# Files that have not been built are reported before anything is installed. The program links all layers, so building it is enough, except
# for weft::testing: the installation omits it if it has not been built (for example after `./run build`).
function(weft_require_built component)
  foreach(target ${ARGN})
    install(CODE "if(NOT EXISTS \"$<TARGET_FILE:${target}>\")
    message(FATAL_ERROR \"$<TARGET_FILE:${target}> has not been built, so nothing is installed: run cmake --build ${PROJECT_BINARY_DIR} first\")
  endif()" COMPONENT ${component})
  endforeach()
endfunction()
set(weft_required ${WEFT_LAYERS})
if(WEFT_MPI)
  list(APPEND weft_required mpi)
endif()
if(WEFT_HTTP)
  list(APPEND weft_required http)
endif()
list(TRANSFORM weft_required PREPEND weft_)
weft_require_built(libraries ${weft_required})
weft_require_built(development ${weft_required})
if(TARGET weft)
  weft_require_built(program weft)
endif()

# weft_install_library(TARGET [OPTIONAL]): installs the library and weft_<name>.cmake, which weftConfig.cmake includes for that component.
# OPTIONAL permits that the library has not been built.
function(weft_install_library target)
  get_target_property(name ${target} EXPORT_NAME)
  install(TARGETS ${target} EXPORT weft_${name}_targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development ${ARGN}
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries NAMELINK_COMPONENT development ${ARGN})
  install(EXPORT weft_${name}_targets NAMESPACE weft:: FILE weft_${name}.cmake DESTINATION ${weft_package_dir})
endfunction()

foreach(layer ${WEFT_LAYERS} weft)
  weft_install_library(weft_${layer})
endforeach()
weft_install_library(weft_testing OPTIONAL)
if(WEFT_MPI)
  weft_install_library(weft_mpi)
endif()
if(WEFT_HTTP)
  weft_install_library(weft_http)
endif()
# The lists of headers and documents are computed from the sources at installation time, so that they are always up to date.
install(CODE "include(\"${PROJECT_SOURCE_DIR}/cmake/weft_headers.cmake\")
  weft_install_headers(\"${PROJECT_SOURCE_DIR}\" ${WEFT_MPI} ${WEFT_HTTP} \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_INCLUDEDIR}\")"
  COMPONENT development)
install(CODE "include(\"${PROJECT_SOURCE_DIR}/cmake/weft_documents.cmake\")
  weft_install_documents(\"${PROJECT_SOURCE_DIR}\" \"\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_DOCDIR}\")"
  COMPONENT documentation)
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()

# weftConfig.cmake finds the dependencies of the requested components only.
get_target_property(weft_library_type weft_core TYPE)
if(weft_library_type STREQUAL "STATIC_LIBRARY")
  set(WEFT_STATIC ON)
else()
  set(WEFT_STATIC OFF)
endif()
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weftConfig.cmake.in
  ${PROJECT_BINARY_DIR}/weftConfig.cmake INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  ${PROJECT_SOURCE_DIR}/cmake/weft_find.cmake ${PROJECT_SOURCE_DIR}/cmake/weft_precompiled_headers.cmake
  DESTINATION ${weft_package_dir})

# weft_pkg_config(NAME DESCRIPTION REQUIRES PRIVATE_REQUIRES PRIVATE_LIBS): installs weft-<name>.pc. PRIVATE_REQUIRES and PRIVATE_LIBS
# are the dependencies of a static library, which programs must link; shared libraries link theirs themselves.
function(weft_pkg_config name description requires private_requires private_libs)
  set(libs "-L\${libdir} -lweft_${name}")
  if(WEFT_STATIC)
    string(APPEND requires " ${private_requires}")
    string(APPEND libs " ${private_libs}")
  endif()
  string(STRIP "${requires}" requires)
  string(STRIP "${libs}" libs)
  set(file weft-${name}.pc)
  if(name STREQUAL "weft")  # all layers
    set(file weft.pc)
    set(libs "")
  endif()
  configure_file(${PROJECT_SOURCE_DIR}/cmake/weft.pc.in ${PROJECT_BINARY_DIR}/pkgconfig/${file} @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/pkgconfig/${file} DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
endfunction()
file(RELATIVE_PATH weft_prefix_of_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
set(weft_core_needs fmt)
if(NOT WEFT_STD_THREADS)
  list(APPEND weft_core_needs tbb)
endif()
list(JOIN weft_core_needs " " weft_core_needs)
weft_pkg_config(core "tensors, dtypes, shapes, threads" "" "${weft_core_needs}" "-pthread -Wl,--gc-sections")
weft_pkg_config(ops "operations and their kernels" weft-core "libhwy" "")
weft_pkg_config(graph "graphs, passes, sessions" weft-ops "" "")
weft_pkg_config(autodiff "gradients and optimizers" weft-graph "" "")
weft_pkg_config(serialization "file formats for graphs and tensors" weft-autodiff "protobuf libzip" "")
weft_pkg_config(models "transformers, tokenizers, training" "weft-autodiff weft-serialization fmt"
  "zlib icu-uc libpcre2-8 libzstd sndfile" "")
if(WEFT_MPI)
  # Programs must link a static weft_mpi with the MPI library that it was built with.
  list(JOIN MPI_CXX_LIBRARIES " " weft_mpi_libraries)
  weft_pkg_config(mpi "MPI transport for distributed training" weft-core "" "${weft_mpi_libraries}")
endif()
if(WEFT_HTTP)
  weft_pkg_config(http "HTTP server for models" weft-models "" "")
endif()
weft_pkg_config(testing "checks for unit tests of graphs" weft-models "" "")
weft_pkg_config(weft "computation graphs with autodiff, and transformer models, for CPUs" weft-models "" "")
# Removes the descriptions of weft::testing if its library has not been built. This must be the last rule.
install(CODE "if(NOT EXISTS \"$<TARGET_FILE:weft_testing>\")
    set(libraries \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}/${CMAKE_INSTALL_LIBDIR}\")
    file(GLOB descriptions \"\${libraries}/cmake/weft/weft_testing*.cmake\" \"\${libraries}/pkgconfig/weft-testing.pc\")
    file(REMOVE \${descriptions})
    message(STATUS \"weft::testing has not been built and is not installed: cmake --build ${PROJECT_BINARY_DIR} --target weft_testing\")
  endif()" COMPONENT development)
