# Writes random models with PROGRAM into FOLDER and compares them with llama.cpp, which Node.js loads from PACKAGES.
#   cmake -DPROGRAM=weft_gguf_models -DFOLDER=... -DPACKAGES=... -P check.cmake
find_program(NODE node)
if(NOT NODE)
  message("skipped: Node.js is not installed")
  return()
endif()
if(NOT EXISTS "${PACKAGES}/node_modules/node-llama-cpp")
  message("skipped: node-llama-cpp is not installed in '${PACKAGES}' (npm install --ignore-scripts node-llama-cpp "
    "@node-llama-cpp/linux-x64 there, and set WEFT_NODE_PACKAGES)")
  return()
endif()
file(REMOVE_RECURSE ${FOLDER})
execute_process(COMMAND ${PROGRAM} ${FOLDER} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/compare.mjs ${FOLDER} ${PACKAGES} RESULT_VARIABLE result)
if(NOT result EQUAL 0)
  message(FATAL_ERROR "llama.cpp computes other results")
endif()
