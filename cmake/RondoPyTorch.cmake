# PyTorch as the wheel in .venv has it: rondo_pytorch, with the headers and
# libraries of its C++ part. For what is built when asked for (RONDO_TORCH).
find_package(Python 3.9 COMPONENTS Interpreter REQUIRED)
execute_process(
  COMMAND ${Python_EXECUTABLE} -c
    "import importlib.util as u; print(u.find_spec('torch').submodule_search_locations[0])"
  OUTPUT_VARIABLE torch_dir OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE no_torch ERROR_QUIET)
if(no_torch)
  message(FATAL_ERROR "RONDO_TORCH is set, but ${Python_EXECUTABLE} has no "
    "PyTorch; scripts/setup torch installs it")
endif()

add_library(rondo_pytorch INTERFACE)
target_include_directories(rondo_pytorch SYSTEM INTERFACE
  ${torch_dir}/include ${torch_dir}/include/torch/csrc/api/include)
# PyTorch brings headers of a fmt of its own, and they come first.
target_compile_definitions(rondo_pytorch INTERFACE FMT_HEADER_ONLY=1)
foreach(library c10 torch_cpu torch)
  target_link_libraries(rondo_pytorch INTERFACE
    ${torch_dir}/lib/lib${library}.so)
endforeach()
