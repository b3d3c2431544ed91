# cpack -G DEB makes Debian packages of a build with shared libraries:
#   libweft2 (libraries), libweft-dev (headers, CMake package, pkg-config files), libweft-doc (documentation), weft (the program)
if(NOT BUILD_SHARED_LIBS)
  return()
endif()
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_VENDOR Weft)
set(CPACK_PACKAGE_CONTACT "Weft's maintainers <weft@localhost>")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_COMPONENTS_ALL libraries development documentation)
if(TARGET weft)
  list(APPEND CPACK_COMPONENTS_ALL program)
endif()
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_PACKAGE_VERSION ${PROJECT_VERSION})
set(CPACK_DEBIAN_DEBIAN_VERSION "")
set(weft_version "(= ${PROJECT_VERSION})")

set(CPACK_DEBIAN_LIBRARIES_PACKAGE_NAME libweft${WEFT_SOVERSION})
set(CPACK_COMPONENT_LIBRARIES_DESCRIPTION "Computation graphs with autodiff for CPUs: shared libraries
 Tensors, operations, graphs, gradients, files and transformer models for C++.")
set(CPACK_DEBIAN_LIBRARIES_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY "=")

set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_NAME libweft-dev)
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_SECTION libdevel)
set(CPACK_COMPONENT_DEVELOPMENT_DESCRIPTION "Computation graphs with autodiff for CPUs: development files
 Headers, a CMake package with a component per layer, pkg-config files, and a library of checks for unit tests.")
# Public headers of weft_models include fmt.
set(CPACK_DEBIAN_DEVELOPMENT_PACKAGE_DEPENDS "libweft${WEFT_SOVERSION} ${weft_version}, libfmt-dev")

set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_NAME libweft-doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_SECTION doc)
set(CPACK_DEBIAN_DOCUMENTATION_PACKAGE_ARCHITECTURE all)
set(CPACK_COMPONENT_DOCUMENTATION_DESCRIPTION "Computation graphs with autodiff for CPUs: documentation
 Pages about graphs, operations, training, models, file formats and unit tests, and example programs.")

set(CPACK_DEBIAN_PROGRAM_PACKAGE_NAME weft)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SECTION science)
set(CPACK_COMPONENT_PROGRAM_DESCRIPTION "Trains, evaluates and runs transformer models on CPUs
 A command-line program for language models, translation, speech recognition, image and text classification, tagging and question
 answering. Reads Hugging Face models.")
set(CPACK_DEBIAN_PROGRAM_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PROGRAM_PACKAGE_DEPENDS "libweft${WEFT_SOVERSION} ${weft_version}")
# dpkg-shlibdeps finds the new libraries here, because no installed package contains them yet.
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS_PRIVATE_DIRS ${PROJECT_BINARY_DIR}/lib)
include(CPack)
