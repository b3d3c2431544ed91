// Tests a running server with the official client: node openai_test.mjs ADDRESS PACKAGES, with the API key in WEFT_API_KEY.
// models.mjs makes the models of the server, and check.mjs starts it.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { check, report } from "./checks.mjs";

const [address, packages] = process.argv.slice(2);
const require = createRequire(packages + "/");
const {
  OpenAI,
  AuthenticationError,
  BadRequestError,
  NotFoundError,
  RateLimitError,
  APIUserAbortError,
} = require("openai");
const { zodResponseFormat } = require("openai/helpers/zod");
const { z } = require("zod");

const client = new OpenAI({
  baseURL: address + "/v1",
  apiKey: process.env.WEFT_API_KEY,
  maxRetries: 0,
  timeout: 60000,
});
const question = [{ role: "user", content: "What is 3 + 4?" }];
const ask = (options = {}) =>
  client.chat.completions.create({
    model: "chat",
    messages: question,
    seed: 1,
    max_tokens: 40,
    ...options,
  });

// Calls an endpoint that OpenAI does not have.
async function post(path, body) {
  const response = await fetch(address + path, {
    method: "POST",
    body: JSON.stringify(body),
    headers: {
      "Content-Type": "application/json",
      Authorization: "Bearer " + process.env.WEFT_API_KEY,
    },
  });
  assert.equal(response.status, 200, await response.clone().text());
  return response.json();
}

async function status(model) {
  const response = await fetch(address + "/status", {
    headers: { Authorization: "Bearer " + process.env.WEFT_API_KEY },
  });
  return (await response.json()).models.find((entry) => entry.name === model);
}

// Options for a text of `n` tokens, however the model was trained.
const long = (n) => ({ structured_outputs: { regex: `[a-z]{${4 * n},}` }, max_tokens: n });

const weather = {
  type: "function",
  function: {
    name: "weather",
    description: "Returns the weather of a city.",
    parameters: {
      type: "object",
      properties: {
        city: { type: "string", enum: ["Oslo", "Rome"] },
        days: { type: "integer", minimum: 1, maximum: 9 },
      },
      required: ["city", "days"],
      additionalProperties: false,
    },
  },
};
const clock = {
  type: "function",
  function: {
    name: "clock",
    parameters: {
      type: "object",
      properties: { zone: { type: "string", enum: ["CET", "UTC"] } },
      required: ["zone"],
      additionalProperties: false,
    },
  },
};

function checkWeather(call) {
  assert.equal(call.type, "function");
  assert.equal(call.function.name, "weather");
  assert.ok(call.id.length > 0);
  const { city, days, ...rest } = JSON.parse(call.function.arguments);
  assert.ok(["Oslo", "Rome"].includes(city));
  assert.ok(Number.isInteger(days) && days >= 1 && days <= 9);
  assert.deepEqual(rest, {});
}

await check("models are listed, with adapters", async () => {
  const models = (await client.models.list()).data;
  assert.deepEqual(models.map((model) => model.id).sort(), [
    "backwards",
    "chat",
    "classes",
    "encoder",
    "pirate",
    "plain",
    "ranker",
  ]);
  assert.equal(models.find((model) => model.id === "pirate").parent, "chat");
  const model = await client.models.retrieve("chat");
  assert.equal(model.object, "model");
  assert.ok(model.created > 1e9);
});

await check("a chat has a text, a reason and a count", async () => {
  const answer = await ask();
  assert.equal(answer.object, "chat.completion");
  assert.equal(answer.model, "chat");
  assert.equal(answer.choices.length, 1);
  assert.equal(answer.choices[0].message.role, "assistant");
  assert.ok(answer.choices[0].message.content.length > 0);
  assert.match(answer.choices[0].finish_reason, /^(stop|length)$/);
  const { prompt_tokens, completion_tokens, total_tokens } = answer.usage;
  assert.ok(prompt_tokens > 5 && completion_tokens > 0 && completion_tokens <= 40);
  assert.equal(total_tokens, prompt_tokens + completion_tokens);
});

await check("a seed determines the text, alone and among other requests", async () => {
  const options = { temperature: 1, max_tokens: 30 };
  const alone = (await ask({ ...options, seed: 5 })).choices[0].message.content;
  const others = await Promise.all([1, 2, 5, 3, 5, 4].map((seed) => ask({ ...options, seed })));
  const texts = others.map((answer) => answer.choices[0].message.content);
  assert.equal(texts[2], alone);
  assert.equal(texts[4], alone);
  assert.ok(new Set(texts).size > 1);
});

await check("streamed deltas add up to the text", async () => {
  const whole = await ask({ temperature: 1 });
  let text = "",
    finish = null,
    usage = null,
    first = null;
  for await (const chunk of await ask({
    temperature: 1,
    stream: true,
    stream_options: { include_usage: true },
  })) {
    assert.equal(chunk.object, "chat.completion.chunk");
    first ??= chunk;
    if (chunk.usage) {
      usage = chunk.usage;
      assert.deepEqual(chunk.choices, []);
      continue;
    }
    assert.equal(finish, null, "nothing follows the reason");
    text += chunk.choices[0].delta.content ?? "";
    finish = chunk.choices[0].finish_reason;
  }
  assert.equal(first.choices[0].delta.role, "assistant");
  assert.equal(text, whole.choices[0].message.content);
  assert.equal(finish, whole.choices[0].finish_reason);
  assert.equal(usage.prompt_tokens, whole.usage.prompt_tokens);
  assert.equal(usage.completion_tokens, whole.usage.completion_tokens);
});

await check("the client's stream helper collects an answer", async () => {
  const runner = client.chat.completions.stream({
    model: "chat",
    messages: question,
    seed: 1,
    max_tokens: 40,
  });
  let text = "";
  runner.on("content", (delta) => {
    text += delta;
  });
  assert.equal((await runner.finalChatCompletion()).choices[0].message.content, text);
});

await check("n samples are those of n rows", async () => {
  const { choices } = await ask({ n: 3, temperature: 1 });
  assert.deepEqual(
    choices.map((choice) => choice.index),
    [0, 1, 2],
  );
  assert.equal(
    choices[0].message.content,
    (await ask({ temperature: 1 })).choices[0].message.content,
  );
  assert.equal(new Set(choices.map((choice) => choice.message.content)).size, 3);
});

await check("stop texts end a text and are removed", async () => {
  const whole = (await ask({ temperature: 0 })).choices[0].message.content;
  const stop = whole.slice(4, 7);
  const { message, finish_reason } = (await ask({ temperature: 0, stop: [stop] })).choices[0];
  assert.equal(message.content, whole.slice(0, whole.indexOf(stop)));
  assert.equal(finish_reason, "stop");
});

await check("the number of tokens is limited", async () => {
  for (const name of ["max_tokens", "max_completion_tokens"]) {
    const answer = await client.chat.completions.create({
      model: "chat",
      messages: question,
      [name]: 3,
    });
    assert.equal(answer.choices[0].finish_reason, "length");
    assert.equal(answer.usage.completion_tokens, 3);
  }
});

await check("log-probabilities belong to the tokens of the text", async () => {
  const { message, logprobs } = (await ask({ logprobs: true, top_logprobs: 3, max_tokens: 10 }))
    .choices[0];
  const tokens = logprobs.content;
  assert.equal(
    Buffer.from(tokens.flatMap((token) => token.bytes))
      .toString()
      .slice(0, message.content.length),
    message.content,
  );
  for (const { logprob, top_logprobs } of tokens) {
    assert.ok(logprob <= 0);
    assert.equal(top_logprobs.length, 3);
    assert.ok(
      top_logprobs.every((top, i) => i === 0 || top.logprob <= top_logprobs[i - 1].logprob),
    );
    assert.ok(top_logprobs.reduce((sum, top) => sum + Math.exp(top.logprob), 0) < 1.0001);
  }
});

await check("a bias of 100 decides every token", async () => {
  const { tokens } = await post("/tokenize", { model: "chat", prompt: "a" });
  const { message } = (await ask({ logit_bias: { [tokens[0]]: 100 }, max_tokens: 5 })).choices[0];
  assert.equal(message.content, "aaaaa");
});

await check("a required tool is called with valid arguments", async () => {
  const { message, finish_reason } = (
    await ask({ tools: [weather], tool_choice: "required", max_tokens: 200 })
  ).choices[0];
  assert.equal(finish_reason, "tool_calls");
  assert.equal(message.tool_calls.length, 1);
  checkWeather(message.tool_calls[0]);
});

await check("a named tool is called", async () => {
  const { message } = (
    await ask({
      tools: [clock, weather],
      max_tokens: 200,
      tool_choice: { type: "function", function: { name: "weather" } },
    })
  ).choices[0];
  checkWeather(message.tool_calls[0]);
});

await check("one of several required tools is called", async () => {
  const { message } = (
    await ask({ tools: [weather, clock], tool_choice: "required", max_tokens: 200 })
  ).choices[0];
  const [call] = message.tool_calls;
  if (call.function.name === "weather") checkWeather(call);
  else assert.match(JSON.parse(call.function.arguments).zone, /^(CET|UTC)$/);
});

await check("tool calls are streamed", async () => {
  const runner = client.chat.completions.stream({
    model: "chat",
    messages: question,
    seed: 1,
    tools: [weather],
    tool_choice: "required",
    max_tokens: 200,
  });
  const { message, finish_reason } = (await runner.finalChatCompletion()).choices[0];
  assert.equal(finish_reason, "tool_calls");
  checkWeather(message.tool_calls[0]);
});

await check("the result of a tool continues a chat", async () => {
  const first = await ask({ tools: [weather], tool_choice: "required", max_tokens: 200 });
  const call = first.choices[0].message.tool_calls[0];
  const answer = await ask({
    tools: [weather],
    tool_choice: "none",
    messages: [
      ...question,
      first.choices[0].message,
      { role: "tool", tool_call_id: call.id, content: "rain" },
    ],
  });
  assert.equal(answer.choices[0].message.tool_calls, undefined);
  assert.ok(answer.choices[0].message.content.length > 0);
});

await check("an answer conforms to a JSON schema", async () => {
  const schema = {
    type: "object",
    properties: {
      kind: { type: "string", enum: ["cat", "dog"] },
      legs: { type: "integer", minimum: 0, maximum: 99 },
      tags: { type: "array", items: { type: "boolean" }, maxItems: 2 },
    },
    required: ["kind", "legs", "tags"],
    additionalProperties: false,
  };
  for (const temperature of [0, 1.5]) {
    const { message, finish_reason } = (
      await ask({
        temperature,
        max_tokens: 300,
        response_format: {
          type: "json_schema",
          json_schema: { name: "animal", strict: true, schema },
        },
      })
    ).choices[0];
    assert.equal(finish_reason, "stop");
    const value = JSON.parse(message.content);
    assert.deepEqual(Object.keys(value), ["kind", "legs", "tags"]);
    assert.ok(
      ["cat", "dog"].includes(value.kind) &&
        Number.isInteger(value.legs) &&
        value.legs >= 0 &&
        value.legs <= 99,
    );
    assert.ok(value.tags.length <= 2 && value.tags.every((tag) => typeof tag === "boolean"));
  }
});

await check("zod schemas are parsed by the client", async () => {
  const Step = z.object({ done: z.boolean(), next: z.enum(["go", "halt"]).nullable() });
  const answer = await client.chat.completions.parse({
    model: "chat",
    messages: question,
    seed: 2,
    max_tokens: 300,
    response_format: zodResponseFormat(z.object({ first: Step, second: Step }), "steps"),
  });
  const { first, second } = answer.choices[0].message.parsed;
  assert.equal(typeof first.done, "boolean");
  assert.ok(["go", "halt", null].includes(second.next));
});

await check("any JSON object", async () => {
  const { message, finish_reason } = (
    await ask({ response_format: { type: "json_object" }, max_tokens: 400 })
  ).choices[0];
  if (finish_reason === "stop") assert.equal(typeof JSON.parse(message.content), "object");
  assert.match(message.content, /^\s*\{/);
});

await check("adapters are models", async () => {
  const answer = await ask({ model: "pirate", temperature: 0 });
  assert.equal(answer.model, "pirate");
  assert.ok(answer.choices[0].message.content.length > 0);
});

await check("several prompts, also of ids, are completed in one request", async () => {
  const options = { model: "plain", max_tokens: 8, seed: 3, temperature: 1 };
  const ids = (await post("/tokenize", { model: "plain", prompt: "What" })).tokens;
  const both = await client.completions.create({ ...options, prompt: ["Ada", "What"] });
  assert.deepEqual(
    both.choices.map((choice) => choice.index),
    [0, 1],
  );
  const alone = await client.completions.create({ ...options, prompt: "What" });
  assert.equal(both.object, "text_completion");
  assert.equal(both.choices[1].text, alone.choices[0].text);
  assert.equal(
    (await client.completions.create({ ...options, prompt: ids })).choices[0].text,
    alone.choices[0].text,
  );
  let text = "";
  for await (const chunk of await client.completions.create({
    ...options,
    prompt: "What",
    stream: true,
  }))
    text += chunk.choices[0]?.text ?? "";
  assert.equal(text, alone.choices[0].text);
  const { logprobs } = (
    await client.completions.create({ ...options, prompt: "What", logprobs: 2 })
  ).choices[0];
  assert.equal(logprobs.tokens.length, logprobs.token_logprobs.length);
  assert.ok(logprobs.token_logprobs.every((score) => score <= 0));
});

await check("embeddings are equal as numbers and in base 64", async () => {
  const input = ["jan works from seven to noon", "the ship sings"];
  const numbers = await client.embeddings.create({
    model: "encoder",
    input,
    encoding_format: "float",
  });
  const decoded = await client.embeddings.create({ model: "encoder", input }); // the client decodes base 64
  assert.deepEqual(
    numbers.data.map((entry) => entry.index),
    [0, 1],
  );
  assert.equal(numbers.data[0].embedding.length, 32);
  for (const i of [0, 1])
    assert.deepEqual(
      Float32Array.from(numbers.data[i].embedding),
      Float32Array.from(decoded.data[i].embedding),
    );
  assert.ok(numbers.usage.prompt_tokens > 5);
  const alone = await client.embeddings.create({
    model: "encoder",
    input: input[1],
    encoding_format: "float",
  });
  assert.deepEqual(alone.data[0].embedding, numbers.data[1].embedding);
  const raw = await client.embeddings.create({
    model: "encoder",
    input: input[1],
    encoding_format: "base64",
  });
  assert.equal(Buffer.from(raw.data[0].embedding, "base64").length, 4 * 32);
});

await check("errors have the classes of the client", async () => {
  const stranger = new OpenAI({ baseURL: address + "/v1", apiKey: "wrong", maxRetries: 0 });
  await assert.rejects(stranger.models.list(), AuthenticationError);
  await assert.rejects(
    ask({ model: "gpt-4o" }),
    (error) =>
      error instanceof NotFoundError &&
      error.code === "model_not_found" &&
      /gpt-4o/.test(error.message) &&
      /chat/.test(error.message),
  );
  await assert.rejects(client.models.retrieve("gpt-4o"), NotFoundError);
  await assert.rejects(
    ask({ temperature: -1 }),
    (error) => error instanceof BadRequestError && error.param === "temperature",
  );
  await assert.rejects(ask({ messages: [] }), BadRequestError);
  await assert.rejects(ask({ model: "encoder" }), BadRequestError);
  await assert.rejects(
    ask({ model: "plain" }),
    (error) =>
      error instanceof BadRequestError &&
      /chat template/.test(error.message) &&
      /--chat-format/.test(error.message),
  );
  await assert.rejects(
    client.completions.create({ model: "plain", prompt: "Ada ".repeat(200), max_tokens: 1 }),
    (error) =>
      error instanceof BadRequestError &&
      /\b64\b/.test(error.message) &&
      error.code === "context_length_exceeded",
  );
  await assert.rejects(
    ask({
      response_format: {
        type: "json_schema",
        json_schema: { name: "x", schema: { type: "object", not: {} } },
      },
    }),
    (error) => error instanceof BadRequestError && /'not'/.test(error.message),
  );
});

await check("a full queue is reported with the time to wait", async () => {
  const results = await Promise.allSettled(
    Array.from({ length: 40 }, (_, seed) => ask({ seed, ...long(100) })),
  );
  const rejected = results
    .filter((result) => result.status === "rejected")
    .map((result) => result.reason);
  assert.ok(rejected.length > 0 && rejected.length < 40, `${rejected.length} of 40 were rejected`);
  for (const error of rejected) {
    assert.ok(error instanceof RateLimitError, String(error));
    assert.ok(Number(error.headers.get("retry-after")) >= 1);
  }
});

await check("an aborted request ends at the server", async () => {
  const before = (await status("chat")).engine.cancelled;
  const stream = await ask({ stream: true, ...long(900) });
  await assert.rejects(async () => {
    for await (const chunk of stream)
      if (chunk.choices[0]?.delta.content) stream.controller.abort();
    throw new APIUserAbortError(); // the loop of an aborted stream ends without an error
  }, APIUserAbortError);
  for (let i = 0; i < 100 && (await status("chat")).engine.running > 0; ++i)
    await new Promise((wake) => setTimeout(wake, 50));
  const { engine } = await status("chat");
  assert.equal(engine.running, 0);
  assert.equal(engine.cancelled, before + 1);
});

await check("texts are ranked, classified, translated and tokenized", async () => {
  const documents = ["the king sings", "the ship sleeps in the hall", "a dog"];
  const { results } = await post("/v1/rerank", {
    model: "ranker",
    query: "a ship sleeps in the hall",
    documents,
    top_n: 2,
  });
  assert.equal(results.length, 2);
  assert.ok(results[0].relevance_score >= results[1].relevance_score);
  const { data } = await post("/classify", {
    model: "classes",
    input: ["the film was great 1", "the song was awful 2"],
  });
  for (const { classes } of data) {
    assert.deepEqual(classes.map((entry) => entry.label).sort(), ["bad", "good"]);
    assert.ok(Math.abs(classes[0].score + classes[1].score - 1) < 1e-5);
  }
  const translated = await post("/translate", { model: "backwards", input: ["abc1", "abc2"] });
  assert.equal(translated.data.length, 2);
  const { tokens } = await post("/tokenize", { model: "chat", prompt: "Hello, world" });
  assert.equal((await post("/detokenize", { model: "chat", tokens })).prompt, "Hello, world");
});

report("openai");
