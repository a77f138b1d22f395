# What a build without sanitizers has alone: many runs of the same code, kernels that no sanitizer
# sees or that have one of their own, and the compiler's word on headers and on HLS.
set(spinning "")
hf_test(order c/order.c)
hf_ranks_test(endless_opencl 2 c/endless.c opencl .)
foreach(device host opencl)
  hf_ranks_test(endless_late_${device} 2 c/endless.c ${device} . late)
endforeach()
hf_ranks_test(linpack_stream_9 9 c/linpack_stream.c)
list(APPEND spinning linpack_stream_9)
foreach(ranks 2 3)
  foreach(stem transport transport_lost)
    hf_ranks_test(${stem}_${ranks} ${ranks} c/${stem}.c)
    list(APPEND spinning ${stem}_${ranks})
  endforeach()
endforeach()
hf_ranks_test(transport_34 34 c/transport.c short) # two children on the second level of their tree
list(APPEND spinning transport_34)
foreach(ranks 1 4) # two verify in tests/mpi/test_channel_ranks.py, and end where a packet lacks
  hf_ranks_test(channel_opencl_${ranks} ${ranks} c/channel.c opencl:cpu .)
  list(APPEND spinning channel_opencl_${ranks})
endforeach()
foreach(ranks 1 3)
  hf_ranks_test(relay_${ranks} ${ranks} c/relay.c)
  list(APPEND spinning relay_${ranks})
endforeach()
target_sources(test_relay PRIVATE c/relay_late.c c/relay_session.c)
# Without fibers, and on a CPU for which kernels have no way to call the host.
set(short sizes=1,100,3000 reps=2 loop_upper=9 loop_lower=3)
hf_program(c/channel.c yield)
target_link_options(test_channel_yield PRIVATE LINKER:--undefined=hf_scheduler_yield
  LINKER:--defsym=hf_scheduler_fibers=hf_scheduler_yield)
foreach(ranks 1 2)
  add_test(NAME channel_yield_${ranks} COMMAND ${mpirun} ${ranks}
    $<TARGET_FILE:test_channel_yield> opencl:cpu . ${short})
  hf_ranks_test(channel_spin_${ranks} ${ranks} c/channel.c opencl:cpu . ${short}
    -DHF_RING_SPIN)
  list(APPEND spinning channel_yield_${ranks} channel_spin_${ranks})
endforeach()

# Faults in every benchmark over every scheme, on 1 to 4 ranks: a share of them, another one for
# each number of ranks; then components that are wrong.
hf_program(c/harness.c)
target_sources(test_harness PRIVATE c/cases.c c/harmless.c c/harness_faults.c c/plant.c c/plant_device.c c/plant_launch.c
  c/plant_memory.c c/plant_net.c c/verbs.c)
target_compile_definitions(test_harness PRIVATE _DEFAULT_SOURCE)
hf_wrap(harness hf_device_on_one_core hf_session_path MPI_Irecv MPI_Test hf_digest hf_mpi_near_get)
hf_test(harness_host c/harness.c . device=host share=4)
hf_test(harness_opencl c/harness.c . device=opencl workers=2 share=16)
hf_test(harness_opencl_channel c/harness.c . device=opencl exchange=channel share=16)
hf_ranks_test(harness_opencl_2 2 c/harness.c . device=opencl shape=pipeline workers=2 share=120)
list(APPEND spinning harness_opencl_channel harness_opencl_2)
foreach(ranks 2 3 4)
  math(EXPR share "20 * ${ranks}")
  hf_ranks_test(harness_${ranks} ${ranks} c/harness.c . device=host share=${share})
  list(APPEND spinning harness_${ranks})
endforeach()
# Writes that GPUs and FPGAs leave in a queue, where a CPU has none.
foreach(exchange shared pipelined)
  hf_ranks_test(harness_deferred_${exchange} 2 c/harness.c . device=opencl exchange=${exchange}
    workers=2 bench=b_eff passes=accelerator share=2)
  list(APPEND spinning harness_deferred_${exchange})
endforeach()
hf_ranks_test(harness_relay 2 c/harness.c . device=opencl exchange=shared
  workers=2 bench=b_eff passes=accelerator relay=1 share=2)
list(APPEND spinning harness_relay)
# By hand, for hours: one call, a row and every so many, of one rank and of all, and every call.
set(every COMMAND test_harness . faults=7)
foreach(ranks 2 3 4)
  list(APPEND every COMMAND ${mpirun} ${ranks} $<TARGET_FILE:test_harness> . faults=7)
endforeach()
add_custom_target(harness_every ${every} WORKING_DIRECTORY ${kernels} USES_TERMINAL VERBATIM)
# Kernels that other ranks' kernels wait for, and blocks with padding.
hf_ranks_test(harness_linpack_channel 4 c/harness.c . device=opencl bench=linpack exchange=channel share=60)
hf_ranks_test(harness_linpack_ndrange 3 c/harness.c . device=opencl bench=linpack shape=ndrange share=60)
list(APPEND spinning harness_linpack_channel harness_linpack_ndrange)
# What is left of b in the check of linpack, where that of before is nearly the same.
foreach(lost 1 2) # its product; that, and itself
  hf_test(harness_linpack_left_${lost} c/harness.c . device=host exchange=pcie bench=linpack
    fault=drop,launch,check,first,${lost},1)
endforeach()
# Nothing of other ranks comes to a device: all their blocks are zeros, or all numbers of gmres.
foreach(call start write)
  hf_ranks_test(harness_linpack_apart_${call} 2 c/harness.c . device=host exchange=pcie bench=linpack
    variant=refine=classical fault=zero,${call},steps,middle,1,0,-1,1 seen=1)
endforeach()
hf_ranks_test(harness_linpack_apart_numbers 3 c/harness.c . device=host exchange=host bench=linpack
  variant=refine=gmres fault=zero,write,steps,middle,1,0,-1,1 seen=1)
# A grid of one column, where a rank makes the right side by itself.
hf_ranks_test(harness_linpack_column 2 c/harness.c . device=host exchange=pcie bench=linpack
  variant=grid=2x1 share=24)
# A superstep that is taken twice, the last of which tells nothing.
foreach(ranks 1 2)
  hf_ranks_test(harness_again_${ranks} ${ranks} c/harness.c . device=host exchange=pcie bench=graph
    fault=repeat,launch,steps,last,3,0)
endforeach()
# What a rank told itself, in the place of what another one told.
hf_ranks_test(harness_told 2 c/harness.c . device=host exchange=pcie bench=graph
  variant=direction=auto fault=stale,sendrecv,check,middle,1,5)
# Launches round a ring of devices: lost, and taken twice, in steps; lost in what is shared.
foreach(fault drop,stream,steps,middle repeat,stream,steps,middle drop,stream,check,first)
  string(MAKE_C_IDENTIFIER ${fault} name)
  hf_ranks_test(harness_ring_${name} 2 c/harness.c . device=host exchange=channel bench=graph
    variant=direction=pull fault=${fault},1,0)
  list(APPEND spinning harness_ring_${name})
endforeach()
# Messages along edges.
foreach(ranks 1 3)
  hf_ranks_test(harness_gravf_${ranks} ${ranks} c/harness.c . device=host exchange=pcie bench=graph
    variant=architecture=gravf share=24)
endforeach()
# Kernels that draw numbers from zeros never end.
hf_test(harness_endless c/harness.c . device=host exchange=pcie bench=randomaccess
  variant=replications=1 "fault=zero,write,warm input,first,1,0")
hf_test(harness_gravf_lost c/harness.c . device=host exchange=host bench=graph variant=architecture=gravf
  "fault=drop,step,warm steps,last,7,10")
hf_test(harness_blind c/harness.c . device=host broken=verify)
hf_ranks_test(harness_neighbours 3 c/harness.c . device=host broken=neighbours)
hf_ranks_test(harness_evidence 2 c/harness.c . device=host bench=mpi broken=evidence)
set_tests_properties(${spinning} PROPERTIES PROCESSORS 2 COST 1)

# hf_kernel_test(<name> <source> [definitions...]): kernels as plain C under sanitizers; those with
# channels, and a persistent kernel, run as threads.
function(hf_kernel_test name source)
  set(sanitizer address,undefined)
  if(name MATCHES "^(ring_threads|graph_persistent.*)$")
    set(sanitizer thread)
  endif()
  add_executable(test_${name} kernels/${source}.c)
  target_include_directories(test_${name} PRIVATE ${CMAKE_CURRENT_SOURCE_DIR}/c ${PROJECT_SOURCE_DIR}/csrc ${kernels})
  target_compile_definitions(test_${name} PRIVATE HF_HOST _POSIX_C_SOURCE=200809L ${ARGN})
  target_compile_options(test_${name} PRIVATE -Wno-pedantic -Wno-psabi -Wno-unknown-pragmas -Wno-unused-variable)
  target_compile_options(test_${name} PRIVATE -O0 -fsanitize=${sanitizer} -fno-sanitize-recover=all)
  target_link_options(test_${name} PRIVATE -fsanitize=${sanitizer})
  target_link_libraries(test_${name} PRIVATE m Threads::Threads)
  add_test(NAME kernel_${name} COMMAND test_${name})
endfunction()

hf_test(kernel_b_eff_memory_opencl kernels/b_eff_memory_device.c opencl .)
hf_kernel_test(ring ring)
hf_kernel_test(ring_threads ring)
hf_kernel_test(b_eff_stream b_eff_stream)
hf_kernel_test(ptrans_stream ptrans_stream)
hf_kernel_test(graph_stream graph_stream)
hf_kernel_test(graph_stream_narrow graph_stream HF_CHANNEL_WIDTH=16)
hf_kernel_test(graph_digest graph_digest)
hf_kernel_test(graph_bits graph_bits)
hf_kernel_test(graph_late graph_late)
hf_kernel_test(graph_led graph_led)
hf_kernel_test(graph_persistent graph_persistent)
hf_kernel_test(graph_persistent_sssp graph_persistent HF_PROGRAM=sssp
  GRAPH_FEW_EDGES=256 GRAPH_FEW_ROOM=256)
hf_kernel_test(graph_persistent_pagerank graph_persistent HF_PROGRAM=pagerank)
hf_kernel_test(graph_paths graph_paths)
hf_kernel_test(graph_paths_narrow graph_paths HF_CHANNEL_WIDTH=16)
hf_kernel_test(linpack_stream_float linpack_stream)
hf_kernel_test(linpack_stream_double linpack_stream HF_REAL=double HF_CHANNEL_WIDTH=8 HF_GEMM_SIZE=4)
hf_kernel_test(linpack_stream_wide linpack_stream HF_CHANNEL_WIDTH=128)
foreach(type float double)
  hf_kernel_test(ptrans_memory_${type} ptrans_memory HF_REAL=${type})
  hf_kernel_test(ptrans_ndrange_${type} ptrans_ndrange HF_REAL=${type})
endforeach()
foreach(shape memory ndrange)
  hf_kernel_test(stream_${shape} stream_${shape})
  hf_kernel_test(stream_${shape}_double stream_${shape} HF_REAL=double HF_VECTOR=4 HF_GLOBAL_MEM_UNROLL=2
    HF_BUFFER_SIZE=24)
  hf_kernel_test(stream_${shape}_narrow stream_${shape} HF_VECTOR=1 HF_BUFFER_SIZE=5)
endforeach()
foreach(knobs "" HF_RNG_COUNT_LOG=0 "HF_RNG_COUNT_LOG=3;HF_RNG_DISTANCE=1" HF_BUFFER_SIZE_LOG=4 NDRANGE
    "NDRANGE;HF_RNG_COUNT_LOG=8;HF_BATCH=32")
  string(MAKE_C_IDENTIFIER "randomaccess_${knobs}" name)
  hf_kernel_test(${name} randomaccess ${knobs})
endforeach()
foreach(knobs HF_BLOCK=64 "HF_BLOCK=32;HF_GEMM_SIZE=4;HF_GLOBAL_MEM_UNROLL=8"
    "HF_BLOCK=16;HF_GEMM_SIZE=1;HF_REAL=double" NDRANGE "NDRANGE;__AVX512F__=1"
    "NDRANGE;__AVX2__=1;HF_REAL=double")
  string(MAKE_C_IDENTIFIER "gemm_${knobs}" name)
  hf_kernel_test(${name} gemm ${knobs})
endforeach()
foreach(knobs "" "HF_BLOCK=96;HF_GEMM_SIZE=4;HF_GLOBAL_MEM_UNROLL=8" HF_REAL=double NDRANGE
    "NDRANGE;__AVX512F__=1;HF_BLOCK=96" "NDRANGE;__AVX2__=1;HF_REAL=double")
  string(MAKE_C_IDENTIFIER "linpack_${knobs}" name)
  hf_kernel_test(${name} linpack ${knobs})
endforeach()
if(HF_HALF)
  hf_kernel_test(stream_memory_half stream_memory HF_REAL=half)
  hf_kernel_test(gemm_half gemm HF_BLOCK=16 HF_REAL=half)
  hf_kernel_test(gemm_NDRANGE_half gemm NDRANGE HF_REAL=half)
  hf_test(gemm_element c/gemm_element.c)
endif()

foreach(log_size 6 7 9) # odd and even numbers of stages
  foreach(shape memory stream)
    hf_kernel_test(fft_${shape}_${log_size} fft_${shape} HF_LOG_SIZE=${log_size})
  endforeach()
endforeach()

# Kernels as C++ for Xilinx's HLS, against the least of its streams.
find_program(CXX_COMPILER NAMES c++ g++ clang++)
if(CXX_COMPILER)
  file(GLOB pipelines CONFIGURE_DEPENDS ${kernels}/*_memory.cl ${kernels}/*_stream.cl)
  foreach(file IN LISTS pipelines)
    get_filename_component(stem ${file} NAME_WE)
    foreach(ports "" _ports) # one for a kernel, or one for each pointer
      string(REPLACE _ports -DHF_PORTS option "${ports}")
      add_test(NAME kernel_${stem}_xilinx${ports}
        COMMAND ${CXX_COMPILER} -xc++ -std=c++14 -DHF_XILINX ${option} -Wall -Wextra
          -Wno-unknown-pragmas -Werror -Wno-psabi
          -I${CMAKE_CURRENT_SOURCE_DIR}/kernels/hls -fsyntax-only ${file})
    endforeach()
  endforeach()
endif()

# Each header compiles alone.
file(GLOB_RECURSE headers RELATIVE ${PROJECT_SOURCE_DIR}/csrc ${PROJECT_SOURCE_DIR}/csrc/*.h)
list(REMOVE_ITEM headers python/module.h device/opencl.h device/opencl_queue.h)
foreach(header IN LISTS headers)
  string(MAKE_C_IDENTIFIER ${header} name)
  file(CONFIGURE OUTPUT alone/${name}.c CONTENT "#include \"${header}\"\n#include \"${header}\"\ntypedef int alone;\n")
  list(APPEND alone ${CMAKE_CURRENT_BINARY_DIR}/alone/${name}.c)
endforeach()
add_library(headers_alone OBJECT ${alone})
target_link_libraries(headers_alone PRIVATE hf)
target_compile_definitions(headers_alone PRIVATE _POSIX_C_SOURCE=200809L)

# hf_valgrind(<name> <program> [arguments...])
function(hf_valgrind name program)
  add_test(NAME valgrind_${name}
    COMMAND ${VALGRIND} -q --error-exitcode=9 --leak-check=full --errors-for-leak-kinds=definite
      --max-stackframe=16000000 $<TARGET_FILE:test_${program}> ${ARGN})
endfunction()

find_program(VALGRIND valgrind)
if(VALGRIND)
  foreach(program core graph graph_files graph_scarce pipes ptrans ptrans_stale randomaccess)
    hf_valgrind(${program} ${program})
  endforeach()
  hf_valgrind(session_pcie session host pcie .)
endif()

# Programs of benchmarks/ that work on the core's tables: built here so that they stay in step.
foreach(program overlap meetings)
  add_executable(${program} ${PROJECT_SOURCE_DIR}/benchmarks/${program}.c)
  target_link_libraries(${program} PRIVATE hf)
endforeach()
find_package(OpenMP COMPONENTS C)
if(OpenMP_C_FOUND)
  add_executable(graph_yardstick ${PROJECT_SOURCE_DIR}/benchmarks/graph_yardstick.c)
  target_compile_options(graph_yardstick PRIVATE -O3 -march=native)
  target_link_libraries(graph_yardstick PRIVATE hf OpenMP::OpenMP_C)
endif()
