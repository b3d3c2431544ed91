// Inference with encoders: a classifier, a tagger, a question-answering model and a masked language
// model, each from its own folder or file.
#include <cstdio>

#include "weft/models/tasks/tasks.h"

using namespace weft;

/// Calls use_model(session, model) for the model at `path`.
template <class UseModel>
void with_model(Use use, const char* path, UseModel&& use_model) {
  const LoadedModel opened = load_model_for(use, path);
  Session session(*opened.model->graph, opened.model->store);
  use_model(session, *opened.model);
}

int main(int, char** paths) {
  const std::vector<std::string> texts = {"the film was good", "good"};
  with_model(Use::classify, paths[1], [&](Session& session, auto& model) {
    for (const auto& classes : most_likely_classes(session, model, texts, {.most = 1}))
      std::printf("%s %.4f\n", classes[0].name.c_str(), classes[0].probability);
  });
  with_model(Use::tag, paths[2], [&](Session& session, auto& model) {
    const auto tagged = tag_texts(session, model, texts);
    for (const TaggedWord& word : tagged[0].words) std::printf("%s ", word.tag.c_str());
  });
  with_model(Use::answer, paths[3], [&](Session& session, auto& model) {
    const auto answers = answer(session, model, {{"was it good", "the film was good"}});
    std::printf("\n'%s' %.4f\n", answers[0][0].text.c_str(), answers[0][0].probability);
  });
  with_model(Use::fill, paths[4], [&](Session& session, auto& model) {
    const auto places = fill(session, model, {"the [MASK] was good"}, {.most = 3});
    for (const TokenCandidate& guess : places[0][0].guesses) std::printf("%s ", guess.text.c_str());
    const auto encoder = text_encoder(model);
    Session embedding(*encoder->graph, encoder->store);
    const Tensor vectors = embed(embedding, *encoder, texts);
    std::printf("%.4f\n", most_similar(vectors, vectors, 2)[0][1].cosine);
  });
}
