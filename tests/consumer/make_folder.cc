// Writes a Hugging Face folder with random weights and a small vocabulary for a given config.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "weft/graph/run/session.h"
#include "weft/models/hf/folder.h"

int main(int, char** arguments) {
  using namespace weft;
  const std::filesystem::path folder = arguments[1];
  const std::string config = arguments[2];
  Graph graph;
  const hf::Model model = hf::build_model(graph, config, hf::minimal_inputs(config));
  const auto store = std::make_shared<VariableStore>();
  Session(graph, store, {.seed = 5}).initialise();
  hf::write_folder(folder.string(), model, graph, *store);
  std::ofstream(folder / "vocab.txt")
      << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\nfilm\nwas\ngood\n"
         "it\nuser\nassistant\n:\n";
  std::ofstream(folder / "chat_template.jinja")
      << "{% for m in messages %}{{ m.role + ' : ' + m.content + ' ' }}{% endfor %}"
         "{% if add_generation_prompt %}{{ 'assistant : ' }}{% endif %}";
}
