# The documentation that is installed: the pages in the folders of the code they speak of, the examples as a project, and the other
# files that pages link to, so that every link holds. For the installation and its tests.
cmake_minimum_required(VERSION 3.25)  # scripts of an installation have no policies else

# weft_page_links(VARIABLE PAGE): the files that it links to, from its folder.
function(weft_page_links variable page)
  file(READ ${page} text)
  string(REGEX REPLACE "```[^`]*```" "" text "${text}")
  # Brackets and semicolons mean something in lists of CMake.
  string(REPLACE "](" "\n@" text "${text}")
  string(REGEX REPLACE "[][;]" "" text "${text}")
  string(REGEX MATCHALL "\n@[^)#: \n]+" links "${text}")
  list(TRANSFORM links REPLACE "\n@" "")
  list(REMOVE_DUPLICATES links)
  set(${variable} "${links}" PARENT_SCOPE)
endfunction()

# weft_install_documents(SOURCE FOLDER): installs them into FOLDER.
function(weft_install_documents source folder)
  set(pages README.md)
  foreach(layer core ops graph autodiff serialization models cmake tests)
    file(GLOB_RECURSE found RELATIVE ${source} ${source}/${layer}/*.md)
    list(APPEND pages ${found})
  endforeach()
  list(FILTER pages EXCLUDE REGEX "/fixtures/")
  file(GLOB examples RELATIVE ${source} ${source}/tests/examples/* ${source}/tests/consumer/*.cc)
  set(documents LICENSE ${pages} ${examples})
  foreach(page ${pages})
    weft_page_links(links ${source}/${page})
    get_filename_component(from ${page} DIRECTORY)
    foreach(link ${links})
      get_filename_component(target ${source}/${from}/${link} ABSOLUTE)
      file(RELATIVE_PATH target ${source} ${target})
      list(APPEND documents ${target})
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES documents)
  foreach(document ${documents})
    get_filename_component(below ${document} DIRECTORY)
    file(INSTALL ${source}/${document} DESTINATION ${folder}/${below})
  endforeach()
endfunction()
