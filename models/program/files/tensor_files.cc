#include "weft/models/program/files/tensor_files.h"

#include <filesystem>

#include "weft/serialization/files/foreign_file.h"
#include "weft/serialization/files/read_file.h"
#include "weft/serialization/npy.h"
#include "weft/serialization/safetensors.h"

namespace weft::program {
namespace {

bool is_archive_name(const std::string& path) { return path.ends_with(".npz"); }

}  // namespace

bool is_tensor_file(const std::string& path) {
  return std::filesystem::is_regular_file(path) &&
         (is_npz(path) || foreign_format(first_bytes(path, 512)).starts_with("a safetensors file"));
}

TensorMap read_tensor_file(const std::string& path) {
  return is_npz(path) ? read_npz(path) : read_safetensors(path).tensors;
}

bool has_tensor_ending(const std::string& path) {
  return is_archive_name(path) || path.ends_with(".safetensors");
}

OutputFile plan_tensor_file(CommandPaths& paths, const std::string& what, const std::string& path) {
  return paths.plan_file(what, path, is_archive_name(path) ? FileKind::arrays : FileKind::tensors);
}

void write_tensor_file(const OutputFile& file, const TensorMap& tensors) {
  is_archive_name(file.path()) ? write_npz(file.path(), tensors)
                               : write_safetensors(file.path(), tensors);
}

}  // namespace weft::program
