# One library per layer: weft_<name> from all .cc files below <name>/, static or (with BUILD_SHARED_LIBS) shared. Both kinds use the same
# compiler options, so that a build folder can switch between them without compiling again.

function(weft_compile_options target)
  target_compile_options(${target} PRIVATE -Wall -Wextra $<$<BOOL:${WEFT_WERROR}>:-Werror>)
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_CXX_COMPILER_VERSION VERSION_LESS 13)
    # False positives for concatenations of std::string (GCC bug 105651).
    target_compile_options(${target} PRIVATE -Wno-restrict)
  endif()
  if(WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -fsanitize=${WEFT_SANITIZE} -fno-omit-frame-pointer -g1)
    target_link_options(${target} PUBLIC -fsanitize=${WEFT_SANITIZE})
  endif()
  if(WEFT_FUZZ)
    target_compile_options(${target} PRIVATE -fsanitize=fuzzer-no-link)
  endif()
  if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    # Ranks compare their build ids (core/world/build_id.h).
    target_link_options(${target} PRIVATE LINKER:--build-id)
  endif()
endfunction()

# Source locations in installed binaries are relative to the root of the project and do not contain folders of this machine.
function(weft_relative_file_names target)
  target_compile_options(${target} PRIVATE -fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=
    -fmacro-prefix-map=${PROJECT_BINARY_DIR}/include/weft/=)
endfunction()

# Sets the exported symbols, the version and the link options of a library. With g++, all symbols are hidden except those that headers
# declare with WEFT_API (core/export.h). clang++ exports all symbols, because it gives a function the visibility of the namespace block
# that defines it instead of the one that declares it. Every function has its own section, so that the linker can drop unused functions.
function(weft_library target)
  string(REPLACE "weft_" "" name ${target})
  set_target_properties(${target} PROPERTIES EXPORT_NAME ${name} DEFINE_SYMBOL ""
    VERSION ${PROJECT_VERSION} SOVERSION ${WEFT_SOVERSION})
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden VISIBILITY_INLINES_HIDDEN ON)
  endif()
  if(CMAKE_EXECUTABLE_FORMAT STREQUAL "ELF")
    target_compile_options(${target} PRIVATE -ffunction-sections -fdata-sections)
    if(type STREQUAL "STATIC_LIBRARY")
      target_link_options(${target} INTERFACE LINKER:--gc-sections)
    else()
      target_link_options(${target} PRIVATE LINKER:--gc-sections LINKER:--as-needed)
      if(NOT WEFT_SANITIZE)
        target_link_options(${target} PRIVATE LINKER:-z,defs)
      endif()
      set_target_properties(${target} PROPERTIES LIBRARY_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/lib)
      if(NOT CMAKE_INSTALL_PREFIX STREQUAL "/usr")
        set_target_properties(${target} PROPERTIES INSTALL_RPATH "$ORIGIN")
      endif()
    endif()
  endif()
endfunction()

# Sources that are compiled with the optimisation of the build type: kernels, the execution of programs, tokenizers, the training of word
# embeddings, image processing, resampling and sampling. In a Release build, all other sources are compiled with less optimisation, because
# their speed does not matter and -O3 would double their compile time: -Og for code that runs a few times per command
# (WEFT_COLD_SOURCES), -O1 for the rest.
set(WEFT_HOT_SOURCES "^${PROJECT_SOURCE_DIR}/("
  "core/(parallel|thread_pool|random|tensor)|ops/(kernels|gemm|fusion|sequence)/|graph/(engine|run)/"
  "|models/(vectors|text/unicode)/|models/data/images/image_(augment|transform)|models/audio/resample|models/generate/(logits_rules|sampling)"
  "|models/text/tokenizers/(subwords|normalizers|pre_tokenizers|pipeline|sentence_piece|train)/"
  "|tests/(testing_lib|reference|scaling)/)")
list(JOIN WEFT_HOT_SOURCES "" WEFT_HOT_SOURCES)
set(WEFT_COLD_SOURCES "^${PROJECT_SOURCE_DIR}/(tests|models/(families|fields|hf|inputs|layers|metrics|plots|program|tasks|training|zoo"
  "|text/chat|text/jinja|text/tokenizers/formats)|serialization/onnx)/")
list(JOIN WEFT_COLD_SOURCES "" WEFT_COLD_SOURCES)

# The folders whose sources are compiled together, with those of the folders in them. Smaller folders than a layer keep sources apart that
# use the same names in anonymous namespaces.
set(WEFT_UNIT_FOLDERS
  "^(serialization/onnx/(import|export)/operators|serialization/onnx|models/(tasks|text/tokenizers/formats|text/tokenizers|text|data"
  "|program|zoo)|ops/[^/]*|tests/[^/]*|[^/]*)")
list(JOIN WEFT_UNIT_FOLDERS "" WEFT_UNIT_FOLDERS)

# Sets the optimisation of the sources of a target (WEFT_HOT_SOURCES). With WEFT_UNITY, up to 24 sources (WEFT_UNIT_FOLDERS) are compiled
# together, because most of the build time is spent on headers and templates that they share. Sources with options of their own, such as
# kernels, are compiled separately. Unity builds can hide missing includes, so CI also compiles sources one by one. Precompiled headers
# save nothing beyond that: g++ 12 takes as long to load one as to read the headers.
function(weft_sources target)
  get_target_property(sources ${target} SOURCES)
  set(units "")
  set(compiled "")  # the units, the sources that are compiled alone, and headers
  foreach(source ${sources})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    get_source_file_property(alone ${source} SKIP_UNITY_BUILD_INCLUSION)
    get_filename_component(path ${source} ABSOLUTE)
    if(options OR alone OR NOT path MATCHES "\\.cc$")
      list(APPEND compiled ${source})
      continue()
    endif()
    set(kind "")
    if(path MATCHES "${WEFT_HOT_SOURCES}")
      set(optimisation "")
      set(kind _hot)
    elseif(path MATCHES "${WEFT_COLD_SOURCES}")
      set(optimisation $<$<CONFIG:Release>:-Og>)
      set(kind _cold)
    else()
      set(optimisation $<$<CONFIG:Release>:-O1>)
    endif()
    if(NOT WEFT_UNITY)
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "${optimisation}")
      continue()
    endif()
    get_filename_component(folder ${path} DIRECTORY)
    file(RELATIVE_PATH folder ${PROJECT_SOURCE_DIR} ${folder})
    string(REGEX MATCH "${WEFT_UNIT_FOLDERS}" folder "${folder}")
    string(MAKE_C_IDENTIFIER "${folder}${kind}" folder)
    math(EXPR group "0${count_${folder}} / 24")
    math(EXPR count_${folder} "0${count_${folder}} + 1")
    set(unit ${PROJECT_BINARY_DIR}/unity/${target}/${folder}_${group}.cc)
    list(APPEND units ${unit})
    string(APPEND text_${unit} "#include \"${path}\"\n")
    set(optimisation_${unit} "${optimisation}")
  endforeach()
  if(NOT WEFT_UNITY)
    return()
  endif()
  list(REMOVE_DUPLICATES units)
  foreach(unit ${units})
    file(CONFIGURE OUTPUT ${unit} CONTENT "${text_${unit}}" @ONLY)
    set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS "${optimisation_${unit}}")
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${compiled};${units}")
  # g++ mistakes the anonymous namespace of a source for one in a header, because the unit includes the source.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${target} PRIVATE -Wno-subobject-linkage --param ggc-min-heapsize=400000)
  endif()
endfunction()

function(weft_layer name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.cc)
  list(FILTER sources EXCLUDE REGEX "/core/mpi/|/models/serve/http/|/models/program/|/models/zoo/")
  file(GLOB_RECURSE protos CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/${name}/*.proto)
  if(NOT sources)
    add_library(weft_${name} INTERFACE)
    set(scope INTERFACE)
  else()
    add_library(weft_${name} ${sources})
    weft_compile_options(weft_${name})
    weft_relative_file_names(weft_${name})
    target_link_libraries(weft_${name} PRIVATE fmt::fmt)
    set(scope PUBLIC)
  endif()
  weft_library(weft_${name})
  add_library(weft::${name} ALIAS weft_${name})
  target_compile_features(weft_${name} ${scope} cxx_std_20)
  target_include_directories(weft_${name} ${scope}
    $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include> $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  foreach(dependency ${ARGN})
    target_link_libraries(weft_${name} ${scope} weft_${dependency})
  endforeach()
  if(protos AND sources)
    # Generated headers are included as "weft_proto/<file>.pb.h". The public API does not expose protobuf.
    set(out ${PROJECT_BINARY_DIR}/proto/weft_proto)
    file(MAKE_DIRECTORY ${out})
    foreach(proto ${protos})
      get_filename_component(stem ${proto} NAME_WE)
      get_filename_component(dir ${proto} DIRECTORY)
      add_custom_command(OUTPUT ${out}/${stem}.pb.cc ${out}/${stem}.pb.h
        COMMAND protobuf::protoc --proto_path=${dir} --cpp_out=${out} ${proto}
        DEPENDS ${proto} VERBATIM)
      target_sources(weft_${name} PRIVATE ${out}/${stem}.pb.cc ${out}/${stem}.pb.h)
      set_source_files_properties(${out}/${stem}.pb.cc PROPERTIES COMPILE_OPTIONS "-w;$<$<CONFIG:Release>:-O1>")
      list(APPEND generated ${out}/${stem}.pb.h)
    endforeach()
    add_custom_target(weft_${name}_generated DEPENDS ${generated})
    add_dependencies(weft_generated weft_${name}_generated)
    target_include_directories(weft_${name} PRIVATE ${PROJECT_BINARY_DIR}/proto ${out})
    target_link_libraries(weft_${name} PRIVATE protobuf::libprotobuf)
  endif()
endfunction()

# Flags of the kernel files: Highway's dynamic dispatch over AVX3, AVX2 and SSSE3 with both compilers (ops/kernels/README.md), and no
# contraction, so that g++ and clang++ round identically.
function(weft_kernel_flags)
  if(TARGET weft_ops)
    get_target_property(type weft_ops TYPE)
    if(type STREQUAL "INTERFACE_LIBRARY")
      return()
    endif()
    file(GLOB_RECURSE kernels CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/ops/kernels/*.cc)
    set(flags -ffp-contract=off)
    if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
      list(APPEND flags -march=x86-64-v2 -DHWY_DISABLED_TARGETS=\(HWY_SSE4|HWY_AVX3_DL\))
    endif()
    set_source_files_properties(${kernels} PROPERTIES COMPILE_OPTIONS "${flags}")
    target_link_libraries(weft_ops PRIVATE weft::hwy)
    # Eigen consists of headers that only sources include, so installed libraries do not need it.
    target_include_directories(weft_ops SYSTEM PRIVATE ${EIGEN3_INCLUDE_DIR})
  endif()
endfunction()
