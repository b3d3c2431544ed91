# The headers to install: the headers of public_headers.txt and the headers that these include. Used by the installation and its tests.
cmake_minimum_required(VERSION 3.25)  # installation scripts start without policies

set(weft_header_list ${CMAKE_CURRENT_LIST_DIR}/public_headers.txt)

# weft_public_headers(VARIABLE MPI HTTP): the headers that programs may include as weft/<path>, promised or not, without the parts of
# promised headers. The headers of core/mpi/ are included if MPI is true, and those of models/serve/http/ if HTTP is true.
function(weft_public_headers variable mpi http)
  file(STRINGS ${weft_header_list} headers REGEX "^[a-z]")
  if(NOT mpi)
    list(FILTER headers EXCLUDE REGEX "^core/mpi/")
  endif()
  if(NOT http)
    list(FILTER headers EXCLUDE REGEX "^models/serve/http/")
  endif()
  set(${variable} "${headers}" PARENT_SCOPE)
endfunction()

# weft_header_parts(VARIABLE): the parts of the promised headers.
function(weft_header_parts variable)
  file(STRINGS ${weft_header_list} parts REGEX "^ +[a-z]")
  list(TRANSFORM parts STRIP)
  set(${variable} "${parts}" PARENT_SCOPE)
endfunction()

# weft_header_path(VARIABLE SOURCE HEADER): the path of a header in the source tree.
function(weft_header_path variable source header)
  if(header STREQUAL "weft.h")
    set(header models/weft.h)
  elseif(header MATCHES "^testing/")
    string(REGEX REPLACE "^testing/" "tests/testing_lib/" header ${header})
  endif()
  set(${variable} ${source}/${header} PARENT_SCOPE)
endfunction()

# weft_included_headers(VARIABLE FILE): the headers of Weft that a file includes, as paths below weft/.
function(weft_included_headers variable file)
  file(STRINGS ${file} includes REGEX "^#include \"weft/")
  list(TRANSFORM includes REPLACE "^#include \"weft/([^\"]*)\".*" "\\1")
  set(${variable} "${includes}" PARENT_SCOPE)
endfunction()

# weft_installed_headers(VARIABLE SOURCE MPI HTTP): the public headers and the headers that they include, directly or indirectly.
function(weft_installed_headers variable source mpi http)
  weft_public_headers(left "${mpi}" "${http}")
  set(found "")
  while(left)
    list(POP_FRONT left header)
    if(header IN_LIST found)
      continue()
    endif()
    list(APPEND found ${header})
    weft_header_path(path ${source} ${header})
    weft_included_headers(includes ${path})
    list(APPEND left ${includes})
  endwhile()
  list(SORT found)
  set(${variable} "${found}" PARENT_SCOPE)
endfunction()

# weft_install_headers(SOURCE MPI HTTP FOLDER): installs these headers into FOLDER/weft/.
function(weft_install_headers source mpi http folder)
  weft_installed_headers(headers ${source} "${mpi}" "${http}")
  foreach(header ${headers})
    weft_header_path(path ${source} ${header})
    get_filename_component(below weft/${header} DIRECTORY)
    file(INSTALL ${path} DESTINATION ${folder}/${below})
  endforeach()
endfunction()
