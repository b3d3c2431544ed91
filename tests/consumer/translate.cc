// Translates texts with an encoder-decoder.
#include <cstdio>

#include "weft/models/tasks/tasks.h"

int main(int, char** arguments) {
  using namespace weft;
  const auto model = load_model_for(Use::translate, arguments[1]).model;
  Session session(*model->graph, model->store);
  const TranslateOptions options{.beams = 2, .on_cut = [](const CutText& cut) {
                                   std::printf("text %d is truncated to %d tokens\n",
                                               int(cut.text) + 1, int(cut.kept));
                                 }};
  const std::vector<std::string> texts = {"the film", "the film was good"};
  for (const WrittenText& output : translate_texts(session, *model, texts, options))
    std::printf("%s  %.4f\n", output.text.c_str(), *output.score);
}
