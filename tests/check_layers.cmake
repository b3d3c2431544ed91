# Fails where a file includes from a layer above its own (README.md, "The folders").
#   cmake -DSOURCE=... -P check_layers.cmake
set(order core ops graph autodiff serialization models)
cmake_minimum_required(VERSION 3.25)

set(allowed "")
set(wrong "")
foreach(layer ${order})
  list(APPEND allowed ${layer})
  file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/${layer}/*.h ${SOURCE}/${layer}/*.cc)
  foreach(file ${files})
    file(STRINGS ${SOURCE}/${file} includes REGEX "^#include \"weft/[a-z]+/")
    foreach(include ${includes})
      string(REGEX REPLACE "^#include \"weft/([a-z]+)/.*" "\\1" from "${include}")
      if(NOT from IN_LIST allowed)
        string(APPEND wrong "\n  ${file}: ${include}")
      endif()
      if(file MATCHES "^models/layers/" AND include MATCHES "weft/models/(families|train|generate|hf|program)/" OR
         file MATCHES "^models/families/" AND include MATCHES "weft/models/(train|generate|hf|program)/" OR
         file MATCHES "^models/(train|generate|hf)/" AND include MATCHES "weft/models/program/")
        string(APPEND wrong "\n  ${file}: ${include}")
      endif()
    endforeach()
  endforeach()
endforeach()
# Threads come from one place.
file(GLOB_RECURSE files RELATIVE ${SOURCE} ${SOURCE}/core/* ${SOURCE}/ops/*.cc ${SOURCE}/ops/*.h ${SOURCE}/graph/*.cc
  ${SOURCE}/graph/*.h ${SOURCE}/autodiff/*.cc ${SOURCE}/models/*.cc ${SOURCE}/serialization/*.cc)
foreach(file ${files})
  file(STRINGS ${SOURCE}/${file} includes REGEX "^#include <(tbb|oneapi)/")
  if(includes AND NOT file STREQUAL "core/parallel.cc")
    string(APPEND wrong "\n  ${file}: ${includes} (only core/parallel.cc includes TBB)")
  endif()
endforeach()
if(wrong)
  message(FATAL_ERROR "includes against the order of layers:${wrong}")
endif()
message(STATUS "layers: every include points down")
