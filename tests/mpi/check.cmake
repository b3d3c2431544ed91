# Ranks started by MPI train one network: the result is bit-identical for any number of ranks, and all ranks end if one fails.
#   cmake -DPROGRAM=... -DLAUNCHER=... -P check.cmake
cmake_minimum_required(VERSION 3.25)
execute_process(COMMAND ${LAUNCHER} --version OUTPUT_VARIABLE version ERROR_VARIABLE version)
set(flags "")
if(version MATCHES "Open MPI|OpenRTE")
  # More ranks than cores; tests may run as root in containers.
  set(flags --oversubscribe --allow-run-as-root)
endif()

# run(RANKS HOW): runs the program; sets result, output and errors.
function(run ranks how)
  execute_process(COMMAND ${LAUNCHER} ${flags} -n ${ranks} ${PROGRAM} ${how} TIMEOUT 60
    RESULT_VARIABLE result OUTPUT_VARIABLE output ERROR_VARIABLE errors)
  set(result "${result}" PARENT_SCOPE)
  set(output "${output}" PARENT_SCOPE)
  set(errors "${errors}" PARENT_SCOPE)
endfunction()

execute_process(COMMAND ${PROGRAM} train RESULT_VARIABLE result OUTPUT_VARIABLE alone ERROR_VARIABLE errors)
if(NOT result EQUAL 0 OR NOT alone MATCHES "^learned ")
  message(FATAL_ERROR "one process without a launcher: ${result}\n${alone}${errors}")
endif()
foreach(ranks 1 2 3 4)
  run(${ranks} train)
  if(NOT result EQUAL 0 OR NOT output STREQUAL alone)
    message(FATAL_ERROR "${ranks} ranks: ${result}\n${output}${errors}instead of\n${alone}")
  endif()
endforeach()

run(3 lines)
if(NOT result EQUAL 0 OR NOT output STREQUAL "all messages arrived\n")
  message(FATAL_ERROR "many large messages: ${result}\n${output}${errors}")
endif()

run(3 late)
if(NOT result EQUAL 0 OR NOT output STREQUAL alone)
  message(FATAL_ERROR "a rank that leaves later than others: ${result}\n${output}${errors}instead of\n${alone}")
endif()

# fails(HOW PATTERN...): two ranks end with output that matches one of the patterns.
function(fails how)
  run(2 ${how})
  string(JOIN "|" lines ${ARGN})
  if(result EQUAL 0 OR result MATCHES "timeout" OR NOT "${output}${errors}" MATCHES "${lines}")
    message(FATAL_ERROR "${how}: ${result}\n${output}${errors}does not match any of: ${ARGN}")
  endif()
endfunction()
fails(differ "ranks differ in the seed: rank 0 .*has 1, rank 1 .*has 2")
fails(uncut "ranks differ in the number of shards: rank 0 .*has 8, rank 1 .*has 1")
fails(leave "rank 1 .* has left while other ranks wait for it; it was last in the end of the step")
fails(throw "shard 4 of 8: row 7 is not a number")
fails(short "rank 0 sent 8388611 bytes on channel 3, but rank 1 expected 16777216")
fails(long "rank 0 sent more bytes on channel 3, but rank 1 expected 999")
# The launcher may detect it first and then ends the other ranks.
fails(kill "rank 1 .* is lost" "rank 1 .* is silent" "signal 9|SIGNAL 9|Killed|EXIT CODE: 9")
message(STATUS "mpi: 1 to 4 ranks of ${LAUNCHER} give the same result")
