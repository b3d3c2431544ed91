# Installation: libraries, headers under include/weft, the program, documentation, a CMake package with a component per layer
# and one pkg-config file per layer. Debian packages are made of the same parts: libraries, development, documentation,
# program (weft_package.cmake).
include(CMakePackageConfigHelpers)

# Headers that no user includes, nor any header of theirs: the engines, what files of one family share, the parts of the
# planner and of a Session, the data of the zoo, and what reads JSON and protobuf (neither is part of the package).
set(weft_internal_headers
  ops/kernels ops/gemm ops/fusion
  "ops/(attention_op|broadcast_plan|samples|class_targets|conv_kernel|elementwise|index_kernel|quantized_operands)[.]h"
  "ops/(reduce_arg|reduce_kernel|shape_kernel|shape_slice|window)[.]h"
  core/mpi graph/distribute "graph/control/(body|scan_node)[.]h" "graph/functions/windows[.]h" "graph/passes/(loop|match)[.]h" "autodiff/(control|scan)_gradient[.]h"
  "graph/plan/(compile_bodies|control_plan|control_step|layout|liveness|memory_budget|offsets|recompute|report_text|schedule|specialise|update_order)[.]h"
  "core/world/(text_list|timed_transport)[.]h" "graph/text/(inline_constants|literal|scanner|terms)[.]h"
  "graph/run/(agree|executor|finite_check|frame|output_pool|plan_cache|shard_runner|split_cache|sum_layout|write_guard)[.]h"
  "serialization/(graph_proto|strict_json|weft)[.]h"
  "models/train/(agreed_stop|run_spread)[.]h" "models/tasks/common/texts_of_ranks[.]h"
  models/program models/zoo models/chat/template "models/chat/read_conversation[.]h" "models/fields/read_json[.]h"
  "models/tokenizers/formats/(fields|forms|components|folder_settings|merges_folder|sentence_piece_folder)[.]h"
  "models/hf/(config_reader|config_writer|encoder_keys|encoder_task|encoder_decoder_task|request|sequence_labels)[.]h")
set(internal "")
foreach(path ${weft_internal_headers})
  list(APPEND internal REGEX "/${path}$" EXCLUDE)
endforeach()

set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
set(weft_documents ${CMAKE_INSTALL_DOCDIR})
set(CMAKE_INSTALL_DEFAULT_COMPONENT_NAME development)

# weft_install_library(TARGET): the library, and <name>Targets.cmake, which weftConfig.cmake reads for that component.
function(weft_install_library target)
  get_target_property(name ${target} EXPORT_NAME)
  install(TARGETS ${target} EXPORT weft_${name}_targets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT development
    LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libraries NAMELINK_COMPONENT development)
  install(EXPORT weft_${name}_targets NAMESPACE weft:: FILE weft_${name}.cmake DESTINATION ${weft_package_dir})
endfunction()

foreach(layer ${WEFT_LAYERS})
  install(DIRECTORY ${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/${layer}
    FILES_MATCHING PATTERN "*.h" ${internal})
  weft_install_library(weft_${layer})
endforeach()
weft_install_library(weft_weft)
if(WEFT_MPI)
  install(DIRECTORY core/mpi/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/core/mpi FILES_MATCHING PATTERN "*.h")
  weft_install_library(weft_mpi)
endif()
install(FILES serialization/weft.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft)
install(DIRECTORY tests/testing/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/testing FILES_MATCHING PATTERN "*.h")
weft_install_library(weft_testing)
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT program)
endif()

# The pages, in the folders of the code they speak of, so that their links hold.
install(FILES README.md LICENSE DESTINATION ${weft_documents} COMPONENT documentation)
foreach(folder ${WEFT_LAYERS} cmake tests)
  install(DIRECTORY ${folder} DESTINATION ${weft_documents} COMPONENT documentation
    FILES_MATCHING PATTERN "*.md" PATTERN "fixtures" EXCLUDE)
endforeach()

# What the layers need of others is found only for the layers that are asked for.
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
  DESTINATION ${weft_package_dir})

# weft_pkg_config(NAME DESCRIPTION REQUIRES PRIVATE_REQUIRES PRIVATE_LIBS): weft-<name>.pc. What a static library uses must be
# linked by whoever links it; of a shared one it is nobody's business.
function(weft_pkg_config name description requires private_requires private_libs)
  set(libs "-L\${libdir} -lweft_${name}")
  if(WEFT_STATIC)
    string(APPEND requires " ${private_requires}")
    string(APPEND libs " ${private_libs}")
  endif()
  string(STRIP "${requires}" requires)
  string(STRIP "${libs}" libs)
  set(file weft-${name}.pc)
  if(name STREQUAL "weft")  # all of them
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
weft_pkg_config(serialization "files of graphs and tensors" weft-graph "protobuf" "")
weft_pkg_config(models "transformers, tokenizers, training" "weft-autodiff weft-serialization fmt"
  "zlib icu-uc libpcre2-8 libzstd" "")
weft_pkg_config(testing "checks for unit tests of graphs" weft-models "" "")
weft_pkg_config(weft "computation graphs with autodiff for CPUs, and transformers on them" weft-models "" "")
