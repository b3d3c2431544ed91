# Installation: libraries, headers under include/weft, the program, and a CMake package.
include(CMakePackageConfigHelpers)

# Headers that no user includes, nor any header of theirs: the engines, what files of one family share, the parts of the
# planner and of a Session, the data of the zoo, and what reads JSON and protobuf (neither is part of the package).
set(weft_internal_headers
  ops/kernels ops/gemm ops/fusion
  "ops/(attention_op|broadcast_plan|class_targets|conv_kernel|elementwise|index_kernel|quantized_operands)[.]h"
  "ops/(reduce_arg|reduce_kernel|shape_kernel|shape_slice|window)[.]h"
  "graph/control/(body|scan_node)[.]h" "graph/functions/windows[.]h" "graph/passes/(loop|match)[.]h" "autodiff/(control|scan)_gradient[.]h"
  "graph/plan/(compile_bodies|control_plan|control_step|layout|liveness|memory_budget|offsets|recompute|report_text|schedule|specialise|update_order)[.]h"
  "graph/run/(executor|finite_check|frame|output_pool|plan_cache|write_guard)[.]h"
  "serialization/(graph_proto|strict_json)[.]h"
  models/program models/zoo models/chat/template "models/chat/read_conversation[.]h" "models/fields/read_json[.]h"
  "models/tokenizers/formats/(fields|forms|components|folder_settings|merges_folder|sentence_piece_folder)[.]h"
  "models/hf/(config_reader|config_writer|encoder_keys|encoder_task|encoder_decoder_task|request|sequence_labels)[.]h")
set(internal "")
foreach(path ${weft_internal_headers})
  list(APPEND internal REGEX "/${path}$" EXCLUDE)
endforeach()

set(weft_targets weft_core weft_ops weft_graph weft_autodiff weft_serialization weft_models weft_weft)
foreach(layer core ops graph autodiff serialization models)
  set_target_properties(weft_${layer} PROPERTIES EXPORT_NAME ${layer})
  install(DIRECTORY ${layer}/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/${layer}
    FILES_MATCHING PATTERN "*.h" ${internal})
endforeach()
install(TARGETS ${weft_targets} EXPORT weftTargets
  ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
# A package component of its own: who only runs models needs no kit for tests.
if(TARGET weft_testing)
  set_target_properties(weft_testing PROPERTIES EXPORT_NAME testing)
  install(DIRECTORY tests/testing/ DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}/weft/testing
    FILES_MATCHING PATTERN "*.h")
  install(TARGETS weft_testing EXPORT weftTestingTargets
    ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
  install(EXPORT weftTestingTargets NAMESPACE weft:: DESTINATION ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
endif()
if(TARGET weft)
  install(TARGETS weft RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
endif()

set(weft_package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/weft)
install(EXPORT weftTargets NAMESPACE weft:: DESTINATION ${weft_package_dir})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/weftConfig.cmake.in
  ${PROJECT_BINARY_DIR}/weftConfig.cmake INSTALL_DESTINATION ${weft_package_dir})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/weftConfig.cmake ${PROJECT_BINARY_DIR}/weftConfigVersion.cmake
  DESTINATION ${weft_package_dir})
