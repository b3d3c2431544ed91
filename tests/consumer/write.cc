// Generates text with any trained model, from a file or a folder.
#include <iostream>

#include "weft/graph/run/session.h"
#include "weft/models/tasks/common/text_generator.h"
#include "weft/models/tasks/tasks.h"

int main(int, char** arguments) {
  using namespace weft;
  const LoadedModel opened = load_any_model(arguments[1]);
  Session session(*opened.model->graph, opened.model->store);
  const auto generator = text_generator(session, *opened.model);
  GenerationOptions options = generator->options();
  options.max_new = 20;
  for (std::string_view text : generator->generate({"the"}, options)) std::cout << text;
  const auto written = generator->generate({"a", "the"}, options).run();
  for (const WrittenText& text : written) std::cout << "\n---\n" << text.text;
  return written.size() == 2 && written[0].ids.size() == 20 ? 0 : 1;
}
