// Generates text with any trained model, from a file or a folder.
#include <cstdio>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"

int main(int, char** arguments) {
  const weft::LoadedModel opened = weft::load_any_model(arguments[1]);
  weft::Session session(*opened.model->graph, opened.model->store);
  const auto generator = text_generator(session, *opened.model);
  weft::GenerationOptions options = generator->options();
  options.max_new = 20;
  const auto written = generator->generate({"a", "the"}, options).run();
  for (const weft::WrittenText& text : written) std::printf("%s\n---\n", text.text.c_str());
  return written.size() == 2 && written[0].ids.size() == 20 ? 0 : 1;
}
