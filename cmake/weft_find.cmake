# Libraries that have no CMake package everywhere: Highway, PCRE2, Zstandard. The build finds them here, and so does
# weftConfig.cmake for whoever links a static Weft: what is installed names the targets, and no path of the machine that built it.

# weft_find_library(NAME FILE [HEADER]): the target weft::NAME of the library FILE. One at a place of its own is found below
# CMAKE_PREFIX_PATH, or is named by <NAME>_LIBRARY and <NAME>_INCLUDE_DIR (in capitals). The build gives a header and cannot do
# without; else there is no target where there is no library.
function(weft_find_library name file)
  string(TOUPPER ${name} upper)
  set(required "")
  if(ARGC GREATER 2)
    set(required REQUIRED)
    find_path(${upper}_INCLUDE_DIR ${ARGV2} REQUIRED)
  endif()
  find_library(${upper}_LIBRARY ${file} ${required})
  mark_as_advanced(${upper}_LIBRARY ${upper}_INCLUDE_DIR)
  if(${upper}_LIBRARY AND NOT TARGET weft::${name})
    add_library(weft::${name} UNKNOWN IMPORTED)
    set_target_properties(weft::${name} PROPERTIES IMPORTED_LOCATION ${${upper}_LIBRARY})
    if(required)
      target_include_directories(weft::${name} INTERFACE ${${upper}_INCLUDE_DIR})
    endif()
  endif()
endfunction()
