// Text in, text out: uses of a folder of Hugging Face's library, or of a .weft file.
#include <cstdio>

#include "weft/models/tasks/tasks.h"

int main(int, char** argv) {
  using namespace weft;
  const auto [task, model] = load_any_model(argv[1]);
  Session session(*model->graph, model->store);
  const auto filled = task.fill(session, *model, {"the [MASK] was good"}, 3);
  for (const PieceGuess& guess : filled[0][0].guesses)
    std::printf("%s %.4f\n", guess.text.c_str(), guess.probability);
  const auto encoder = task.text_encoder(*model);
  Session embedding(*encoder->graph, encoder->store);
  const std::vector<std::string> texts = {"the film", "the film was good"};
  const Tensor vectors = embed(embedding, *encoder, texts);
  std::printf("cosine %.4f\n", most_similar(vectors, vectors, 2)[0][1].cosine);
}
