# check_symbols(PREFIX): the shared libraries there show what WEFT_API is on, and nothing of the kernels, of protobuf's messages or of
# other libraries' templates.
function(check_symbols prefix)
  file(GLOB_RECURSE libraries ${prefix}/lib/libweft_*.so)
  if(NOT libraries)
    message(FATAL_ERROR "no shared library is installed")
  endif()
  set(others "weft::kernels::N_|weft::v1::|hwy::|fmt::|google::protobuf::")
  foreach(library ${libraries})
    run(nm -DC --defined-only ${library})
    # The name of a symbol begins behind its type; what a name has in brackets is not its own.
    string(REGEX MATCH "[^\n]* [A-Za-z] ((typeinfo|vtable|typeinfo name|guard variable) for )?(${others})[^\n]*" shown "${output}")
    if(shown)
      message(FATAL_ERROR "${library} shows what should be hidden: ${shown}")
    endif()
  endforeach()
endfunction()
