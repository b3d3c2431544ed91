// Models in GGUF files: decoders with their tokenizers and chat templates, as llama.cpp reads and
// writes them.
//
// load_any_model() and the commands accept GGUF files wherever they accept .weft files and Hugging
// Face folders; this header is needed only for parts of a file. The config and the weights have the
// form of the original Hugging Face model: rows of queries and keys that files store in the order
// of adjacent pairs are moved back, and norms with an offset are stored minus 1. Adapters and
// exports therefore fit.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "weft/graph/engine/variable_store.h"
#include "weft/graph/ir/program.h"
#include "weft/models/families/gpt_config.h"
#include "weft/models/fields/model_path.h"
#include "weft/models/generate/settings.h"
#include "weft/models/text/chat/chat_format.h"
#include "weft/models/text/tokenizers/tokenizer_folder.h"
#include "weft/serialization/gguf/gguf.h"

namespace WEFT_API weft {
namespace gguf {

/// Returns true if the file exists and begins with GGUF's magic number.
bool is_gguf(const std::string& path);

/// A model file. The tensors are views of the mapped file.
struct ModelFile {
  GgufFile file;
  std::string architecture;  // general.architecture: "llama"
  GptConfig config;
  FolderTokenizer text;  // the tokenizer, or the reason why Weft cannot read it
  std::optional<ChatFormat> chat;
  GenerationSettings generation;
  /// Notes for users on metadata without an effect. Usually empty.
  std::vector<std::string> notes;
};

/// Reads the header of a file. ModelPath::ignored_keys are full names of metadata keys
/// ("llama.rope.scaling.factor"), which are treated as absent. Throws the same exceptions as
/// read_gguf(); a FormatError that names the file, the key and the byte offset for metadata that
/// would change results and is not supported; and ArgumentError for a config that Gpt rejects, or
/// for an ignored key that the file does not have.
ModelFile read_model(const ModelPath& path);

/// The weights of a file.
struct LoadedWeights {
  /// Copies of the programs that read quantised weights, and their graph. Empty if all weights are
  /// f32, so that the original programs fit.
  std::shared_ptr<Graph> graph;
  std::vector<Program> programs;
  std::shared_ptr<VariableStore> store;
  /// Notes for users on matrices that were widened to f32.
  std::vector<std::string> notes;
};
/// Loads the weights for `programs`, which were built over one Gpt with the config of the file. If
/// `keep_formats` is true, matrices in BF16, Q8_0, Q5_0, Q4_0 and most in MXFP4 become quantised
/// weights with the same values (quantized_weights.h) and the programs are rewritten to read them;
/// BF16 matrices remain views of the file. All other tensors become f32, exactly as ggml decodes
/// them. Throws one FormatError that lists all tensors that the file lacks, that the model does not
/// use, or that have other sizes, and DataError if a weight is not finite.
LoadedWeights load_weights(const ModelFile& model, const std::vector<Program>& programs,
                           bool keep_formats = true);

/// Encoding of the matrices in a new file. Vectors, norms and routers are always F32.
enum class OutType {
  automatic,  // f32: F32; bf16: BF16; q8_0 and int8: Q8_0; int4: Q4_0
  f32,
  f16,
  bf16,
  q8_0,
  q4_0,
};
/// The names are those of llama.cpp's converter: "auto", "f32", "f16", "bf16", "q8_0", "q4_0".
ChoiceNames choice_names(OutType);

/// A model to write.
struct ModelToWrite {
  GptConfig config;
  /// The parameters of a Gpt at the root of the graph, f32 or quantised.
  const Graph* graph = nullptr;
  const VariableStore* store = nullptr;
  std::optional<Tokenizer> tokenizer = {};
  std::optional<ChatFormat> chat = {};
  std::optional<GenerationSettings> generation = {};
  std::string name = {};  // general.name
};

/// The result of writing a file.
struct WriteReport {
  std::string architecture;        // "llama"
  std::vector<std::string> notes;  // for users: what llama.cpp computes in another way
};

/// Writes a file that llama.cpp and read_model() can read, atomically. Throws ArgumentError if no
/// architecture can represent the config (the message lists the differences from the nearest one)
/// or if GGUF has no form for the tokenizer, DataError if a weight is out of the range of the type,
/// and IoError if the file cannot be written. Memory: the size of the file.
WriteReport write_model(const std::string& path, const ModelToWrite& model,
                        OutType type = OutType::automatic);

}  // namespace gguf
}  // namespace weft
