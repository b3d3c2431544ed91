# Finds libraries that do not provide a CMake package on every system: Highway, PCRE2, Zstandard, libsndfile and libzip. The build uses this
# file, and so does weftConfig.cmake for programs that link static libraries: installed files refer to the targets and contain no paths of
# the machine that built them.

# weft_find_library(NAME FILE [HEADER]): defines the target weft::NAME for the library FILE. Libraries in unusual places are found below
# CMAKE_PREFIX_PATH, or are given by <NAME>_LIBRARY and <NAME>_INCLUDE_DIR (in upper case). With a HEADER, as in the build of Weft, a
# missing library is an error; otherwise the target is not defined.
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
