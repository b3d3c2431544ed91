// Tests a running server with LangChain: node langchain_test.mjs ADDRESS PACKAGES, with the API key in WEFT_API_KEY.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { check, report } from "./checks.mjs";

const [address, packages] = process.argv.slice(2);
const require = createRequire(packages + "/");
const { ChatOpenAI, OpenAIEmbeddings } = require("@langchain/openai");
const { HumanMessage, SystemMessage, ToolMessage } = require("@langchain/core/messages");
const { tool } = require("@langchain/core/tools");
const { z } = require("zod");

const options = {
  apiKey: process.env.WEFT_API_KEY,
  configuration: { baseURL: address + "/v1" },
  maxRetries: 0,
  timeout: 60000,
};
const model = new ChatOpenAI({ ...options, model: "chat", temperature: 0, maxTokens: 300 });
const messages = [new SystemMessage("Be brief."), new HumanMessage("What is 3 + 4?")];

const weather = tool(async ({ city }) => "rain in " + city, {
  name: "weather",
  description: "Returns the weather of a city.",
  schema: z.object({ city: z.enum(["Oslo", "Rome"]) }),
});

await check("invoke returns a message with the number of its tokens", async () => {
  const answer = await model.invoke(messages);
  assert.ok(answer.content.length > 0);
  assert.ok(answer.usage_metadata.input_tokens > 5 && answer.usage_metadata.output_tokens > 0);
});

await check("streamed chunks add up to the message", async () => {
  let text = "",
    chunks = 0;
  for await (const chunk of await model.stream(messages)) {
    text += chunk.content;
    ++chunks;
  }
  assert.equal(text, (await model.invoke(messages)).content);
  assert.ok(chunks > 2);
});

await check("a batch has the answers of single requests", async () => {
  const batch = await model.batch([messages, [messages[1]]]);
  assert.equal(batch[0].content, (await model.invoke(messages)).content);
  assert.equal(batch[1].content, (await model.invoke([messages[1]])).content);
});

await check("a bound tool is called, and its result continues the chat", async () => {
  const bound = model.bindTools([weather], { tool_choice: "weather" });
  const answer = await bound.invoke(messages);
  assert.equal(answer.tool_calls.length, 1);
  assert.equal(answer.tool_calls[0].name, "weather");
  assert.ok(["Oslo", "Rome"].includes(answer.tool_calls[0].args.city));
  const result = await weather.invoke(answer.tool_calls[0]);
  assert.ok(result instanceof ToolMessage);
  assert.ok((await model.invoke([...messages, answer, result])).content.length > 0);
});

await check("tool calls are streamed", async () => {
  let whole = null;
  for await (const chunk of await model
    .bindTools([weather], { tool_choice: "required" })
    .stream(messages))
    whole = whole ? whole.concat(chunk) : chunk;
  assert.equal(whole.tool_calls[0].name, "weather");
});

await check("structured output by a JSON schema and by a tool", async () => {
  const schema = z.object({ kind: z.enum(["cat", "dog"]), tame: z.boolean() });
  for (const method of ["jsonSchema", "functionCalling"]) {
    const value = await model
      .withStructuredOutput(schema, { method, name: "animal" })
      .invoke(messages);
    assert.ok(["cat", "dog"].includes(value.kind), method);
    assert.equal(typeof value.tame, "boolean");
  }
});

await check("texts are embedded", async () => {
  const embeddings = new OpenAIEmbeddings({ ...options, model: "encoder" });
  const vectors = await embeddings.embedDocuments(["the ship sleeps", "a king"]);
  assert.deepEqual(
    vectors.map((vector) => vector.length),
    [32, 32],
  );
  assert.deepEqual(await embeddings.embedQuery("a king"), vectors[1]);
});

report("langchain");
