# The headers that are installed: those of public_headers.txt, and what they include. For the installation and its tests.
cmake_minimum_required(VERSION 3.25)  # scripts of an installation have no policies else

set(weft_header_list ${CMAKE_CURRENT_LIST_DIR}/public_headers.txt)

# weft_public_headers(VARIABLE MPI): what users include, as weft/<each>; those of core/mpi/ only where MPI is true.
function(weft_public_headers variable mpi)
  file(STRINGS ${weft_header_list} headers REGEX "^[^#]")
  if(NOT mpi)
    list(FILTER headers EXCLUDE REGEX "^core/mpi/")
  endif()
  set(${variable} "${headers}" PARENT_SCOPE)
endfunction()

# weft_header_path(VARIABLE SOURCE HEADER): where it lies in the sources.
function(weft_header_path variable source header)
  if(header STREQUAL "weft.h")
    set(header serialization/weft.h)
  elseif(header MATCHES "^testing/")
    string(PREPEND header tests/)
  endif()
  set(${variable} ${source}/${header} PARENT_SCOPE)
endfunction()

# weft_included_headers(VARIABLE FILE): what a file includes of Weft, as weft/<each>.
function(weft_included_headers variable file)
  file(STRINGS ${file} includes REGEX "^#include \"weft/")
  list(TRANSFORM includes REPLACE "^#include \"weft/([^\"]*)\".*" "\\1")
  set(${variable} "${includes}" PARENT_SCOPE)
endfunction()

# weft_installed_headers(VARIABLE SOURCE MPI): the public headers and, one after the other, what they include.
function(weft_installed_headers variable source mpi)
  weft_public_headers(left ${mpi})
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

# weft_install_headers(SOURCE MPI FOLDER): installs them into FOLDER, the one of weft/.
function(weft_install_headers source mpi folder)
  weft_installed_headers(headers ${source} ${mpi})
  foreach(header ${headers})
    weft_header_path(path ${source} ${header})
    get_filename_component(below weft/${header} DIRECTORY)
    file(INSTALL ${path} DESTINATION ${folder}/${below})
  endforeach()
endfunction()
