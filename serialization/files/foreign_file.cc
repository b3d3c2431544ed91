#include "weft/serialization/files/foreign_file.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdint>
#include <cstring>

namespace weft {
namespace {

using namespace std::string_view_literals;

constexpr std::string_view kConvert =
    ": convert it to model.safetensors, for example with save_pretrained() of Hugging Face "
    "transformers";
constexpr std::string_view kPass = ": pass the folder that contains this file and config.json";

struct Format {
  std::string_view magic;
  std::size_t at;
  std::string_view about, remedy;
};

constexpr std::string_view kPassGguf = ": pass the GGUF file itself as the model";

constexpr std::array kFormats = {
    Format{"PK\x03\x04", 0, "a ZIP archive, such as a PyTorch checkpoint (pytorch_model.bin, .pt)",
           kConvert},
    Format{"\x80\x02", 0, "a Python pickle, such as an old PyTorch checkpoint", kConvert},
    Format{"\x80\x03", 0, "a Python pickle", kConvert},
    Format{"\x80\x04", 0, "a Python pickle", kConvert},
    Format{"\x80\x05", 0, "a Python pickle", kConvert},
    Format{"\x89HDF\r\n\x1a\n", 0, "an HDF5 file, such as TensorFlow weights (tf_model.h5)",
           kConvert},
    Format{"GGUF", 0, "a GGUF file of llama.cpp", kPassGguf},
    Format{"TFL3", 4, "a TensorFlow Lite model", kConvert},
    Format{"\x93NUMPY", 0, "a NumPy array", kConvert},
    Format{"\x89weft\r\n\x1a", 0, "a .weft file", ": pass it in place of the folder"},
    Format{"\x1f\x8b", 0, "a gzip archive", ": decompress it"},
    Format{"ustar", 257, "a tar archive", ": unpack it"},
    Format{"%PDF", 0, "a PDF document", ": download the file again"},
};

constexpr std::array kEndings = {
    Format{".onnx", 0, "an ONNX model",
           ": run it with weft run, describe it with weft inspect, or convert it to a .weft file"},
    Format{".msgpack", 0, "a file of Flax weights", kConvert},
    Format{".h5", 0, "a file of TensorFlow weights", kConvert},
    Format{".gguf", 0, "a file for llama.cpp", kPassGguf},
    Format{".bin", 0, "a file of PyTorch weights", kConvert},
    Format{".pt", 0, "a PyTorch checkpoint", kConvert},
    Format{".pth", 0, "a PyTorch checkpoint", kConvert},
    Format{".ckpt", 0, "a checkpoint of another library", kConvert},
    Format{".pkl", 0, "a Python pickle", kConvert},
    Format{".tflite", 0, "a TensorFlow Lite model", kConvert},
    Format{".npz", 0, "a NumPy archive", kConvert},
};

bool is_html(std::string_view head) {
  const std::size_t begin = head.find_first_not_of(" \t\r\n\xef\xbb\xbf");
  if (begin == std::string_view::npos) return false;
  std::string start(head.substr(begin, 14));
  std::transform(start.begin(), start.end(), start.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return start.starts_with("<!doctype html") || start.starts_with("<html") ||
         start.starts_with("<head") || start.starts_with("<?xml");
}

/// An ONNX file is a protobuf message that starts with the format version and the producer's name.
bool is_onnx(std::string_view head) {
  return head.size() > 4 && head[0] == 8 && head[1] > 0 && head[1] < 32 && head[2] == 0x12 &&
         head[3] > 0 && head[3] < 32 && std::isalpha(static_cast<unsigned char>(head[4])) != 0;
}

bool is_safetensors(std::string_view head) {
  std::uint64_t length = 0;
  if (head.size() <= sizeof(length)) return false;
  std::memcpy(&length, head.data(), sizeof(length));
  return length > 1 && length < 100'000'000 && head[sizeof(length)] == '{';
}

std::string described(const Format& format) {
  return std::string(format.about) + std::string(format.remedy);
}

}  // namespace

bool is_lfs_pointer(std::string_view text) {
  return text.starts_with("version https://git-lfs.github.com/spec/") ||
         text.starts_with("version https://hawser.github.com/spec/");
}

std::string foreign_format(std::string_view head, std::string_view path) {
  if (is_lfs_pointer(head))
    return "a Git LFS pointer instead of the file itself: download the file (git lfs pull)";
  if (is_html(head))
    return "an HTML or XML page, probably an error page in place of a download: download the file "
           "again";
  for (const Format& format : kFormats) {
    if (head.size() >= format.at && head.substr(format.at).starts_with(format.magic))
      return described(format);
  }
  if (is_onnx(head)) return described(kEndings.front());
  if (is_safetensors(head)) return "a safetensors file" + std::string(kPass);
  for (const Format& format : kEndings) {
    if (path.ends_with(format.magic)) return described(format);
  }
  if (head.starts_with('{') || head.starts_with('[')) return "a JSON file" + std::string(kPass);
  return {};
}

std::string foreign_hint(std::string_view head, std::string_view path) {
  const std::string found = foreign_format(head, path);
  return found.empty() ? found : "; this is " + found;
}

}  // namespace weft
