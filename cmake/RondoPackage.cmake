# librondo.so, and the package by which other projects find it:
#
#   find_package(rondo REQUIRED)
#   target_link_libraries(program PRIVATE rondo::rondo)
#
# The library is made of the folders that programs use; the launcher and the
# command line are not among them. What programs may call is marked RONDO_API.
include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

add_library(rondo SHARED)
add_library(rondo::rondo ALIAS rondo)
foreach(folder base tensor graph kernels runtime train models transport
    rendezvous cluster ps collectives capi)
  if(TARGET rondo_${folder})
    target_sources(rondo PRIVATE $<TARGET_OBJECTS:rondo_${folder}>)
  endif()
endforeach()
set_target_properties(rondo PROPERTIES
  LINKER_LANGUAGE CXX VERSION ${PROJECT_VERSION} SOVERSION 0)
target_compile_features(rondo PUBLIC cxx_std_20)
# Headers of fmt are part of the interface (status.h); the rest is inside.
target_link_libraries(rondo
  PUBLIC fmt::fmt
  PRIVATE $<BUILD_INTERFACE:rondo_flags> DNNL::dnnl OpenMP::OpenMP_CXX OpenSSL::Crypto
          PkgConfig::hwy Threads::Threads ZLIB::ZLIB protobuf::libprotobuf-lite
          gRPC::grpc++
          ${CMAKE_DL_LIBS})
if(NOT RONDO_SANITIZE)
  target_link_options(rondo PRIVATE -Wl,--no-undefined)
endif()

# The public headers: rondo.h, what it includes, and what a program may include
# besides. A header listed here includes listed ones only.
set(headers
  rondo/graph.h
  rondo/models.h
  rondo/rondo.h
  rondo/rondo_c.h
  rondo/base/clock.h
  rondo/base/env.h
  rondo/base/export.h
  rondo/base/interrupt.h
  rondo/base/short_vector.h
  rondo/base/status.h
  rondo/capi/rondo_c.h
  rondo/cluster/cluster_spec.h
  rondo/cluster/server.h
  rondo/cluster/session_options.h
  rondo/cluster/task_status.h
  rondo/cluster/tls.h
  rondo/collectives/communicator.h
  rondo/collectives/mailbox.h
  rondo/graph/attr.h
  rondo/graph/device_name.h
  rondo/graph/dot.h
  rondo/graph/flow_context.h
  rondo/graph/gradients.h
  rondo/graph/graph.h
  rondo/graph/graph_io.h
  rondo/graph/host_function.h
  rondo/graph/node.h
  rondo/graph/op.h
  rondo/graph/op_registry.h
  rondo/graph/ops/accumulator.h
  rondo/graph/ops/array.h
  rondo/graph/ops/basic.h
  rondo/graph/ops/control.h
  rondo/graph/ops/conv.h
  rondo/graph/ops/critical_section.h
  rondo/graph/ops/dataset.h
  rondo/graph/ops/elementwise.h
  rondo/graph/ops/gathering.h
  rondo/graph/ops/host_call.h
  rondo/graph/ops/io.h
  rondo/graph/ops/joining.h
  rondo/graph/ops/matrix.h
  rondo/graph/ops/nn.h
  rondo/graph/ops/pool.h
  rondo/graph/ops/print.h
  rondo/graph/ops/queue.h
  rondo/graph/ops/random.h
  rondo/graph/ops/reduction.h
  rondo/graph/ops/row_access.h
  rondo/graph/ops/searching.h
  rondo/graph/ops/shaping.h
  rondo/graph/ops/slicing.h
  rondo/graph/ops/state.h
  rondo/graph/ops/strided_range.h
  rondo/graph/ops/summary.h
  rondo/graph/ops/update.h
  rondo/graph/ops/window.h
  rondo/graph/optimizers.h
  rondo/graph/partial_shape.h
  rondo/graph/placement/cost_model.h
  rondo/graph/placement/device_info.h
  rondo/graph/placement/placement.h
  rondo/kernels/bucket_choice.h
  rondo/kernels/cancellation.h
  rondo/kernels/data_source.h
  rondo/kernels/kernel.h
  rondo/kernels/kernel_registry.h
  rondo/kernels/op_library.h
  rondo/kernels/resources.h
  rondo/models/gpt.h
  rondo/models/layers.h
  rondo/models/lenet.h
  rondo/models/lstm.h
  rondo/models/mlp.h
  rondo/models/resnet.h
  rondo/models/training.h
  rondo/models/vgg.h
  rondo/ps/kv_mode.h
  rondo/rendezvous/job_env.h
  rondo/rendezvous/store.h
  rondo/runtime/placement_kind.h
  rondo/runtime/run_options.h
  rondo/runtime/session.h
  rondo/runtime/timeline.h
  rondo/train/buckets.h
  rondo/train/checkpoint_state.h
  rondo/train/data/element.h
  rondo/train/dataset.h
  rondo/train/event_writer.h
  rondo/train/exchange_plan.h
  rondo/train/exchanged_gradients.h
  rondo/train/factors.h
  rondo/train/graph_iterator.h
  rondo/train/joint_gradients.h
  rondo/train/merged_trace.h
  rondo/train/saver.h
  rondo/train/server_share.h
  rondo/train/strategy.h
  rondo/tensor/dtype.h
  rondo/tensor/reduce.h
  rondo/tensor/safetensors.h
  rondo/tensor/safetensors_header.h
  rondo/tensor/tensor.h)
list(TRANSFORM headers PREPEND ${CMAKE_SOURCE_DIR}/)
target_sources(rondo PUBLIC FILE_SET HEADERS BASE_DIRS ${CMAKE_SOURCE_DIR}
  FILES ${headers})

set(package_dir ${CMAKE_INSTALL_LIBDIR}/cmake/rondo)
install(TARGETS rondo EXPORT rondoTargets
  LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
  FILE_SET HEADERS DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
if(TARGET rondo_cli)
  install(TARGETS rondo_cli DESTINATION ${CMAKE_INSTALL_BINDIR})
  # What `rondo lab` runs.
  install(CODE "
    # It was one file.
    set(lab \"\$ENV{DESTDIR}\${CMAKE_INSTALL_PREFIX}\")
    string(APPEND lab /${CMAKE_INSTALL_LIBEXECDIR}/rondo/lab)
    if(EXISTS \"\${lab}\" AND NOT IS_DIRECTORY \"\${lab}\")
      file(REMOVE \"\${lab}\")
    endif()")
  install(PROGRAMS ${CMAKE_SOURCE_DIR}/lab/lab
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rondo/lab)
  install(DIRECTORY ${CMAKE_SOURCE_DIR}/lab
    DESTINATION ${CMAKE_INSTALL_LIBEXECDIR}/rondo
    FILES_MATCHING PATTERN *.py PATTERN __pycache__ EXCLUDE)
endif()
install(EXPORT rondoTargets NAMESPACE rondo:: DESTINATION ${package_dir})
configure_package_config_file(
  ${CMAKE_SOURCE_DIR}/cmake/rondoConfig.cmake.in
  ${CMAKE_BINARY_DIR}/rondoConfig.cmake INSTALL_DESTINATION ${package_dir})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/rondoConfigVersion.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES
  ${CMAKE_BINARY_DIR}/rondoConfig.cmake
  ${CMAKE_BINARY_DIR}/rondoConfigVersion.cmake
  DESTINATION ${package_dir})
