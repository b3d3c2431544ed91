# The programs in this folder are for users to copy. The project in ../consumer builds them against an installed Weft, with the
# warnings that careful users ask for, and runs them: each says by its exit code whether it learned what it is about. One that
# needs a file gets it here.
set(arguments_serve_bert ${folders}/BertForMaskedLM)

file(GLOB examples CONFIGURE_DEPENDS ${CMAKE_CURRENT_LIST_DIR}/*.cc)
foreach(source ${examples})
  get_filename_component(name ${source} NAME_WE)
  add_executable(example_${name} ${source})
  target_compile_options(example_${name} PRIVATE -Wconversion -Wshadow)
  target_link_libraries(example_${name} PRIVATE weft::weft weft::testing)
  add_test(NAME example_${name} COMMAND example_${name} ${arguments_${name}})
endforeach()
set_tests_properties(example_serve_bert PROPERTIES FIXTURES_REQUIRED folders)
