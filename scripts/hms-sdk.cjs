#!/usr/bin/env node
// Streams and records a room with 100ms' own SDK for Node.js, unchanged. It has no option for the address of the service, so the
// one of its HTTP client is set. The SDK is not part of this project:
//
//   npm install --prefix .build/node-sdk @100mslive/server-sdk@0.3.0
//   SECRET=… scripts/hms-sdk.cjs .build/node-sdk HOST:PORT ACCESS_KEY ROOM RTMP_URL
//
// Prints what the SDK has answered as one line of JSON.
"use strict";
const { resolve } = require("node:path");
const [directory, address, key, room, url] = process.argv.slice(2);
const { SDK } = require(resolve(directory, "node_modules/@100mslive/server-sdk"));

function connect(secret) {
  const sdk = new SDK(key, secret);
  sdk.setLogLevel("silent");
  sdk.api.axios.defaults.baseURL = `http://${address}/v2`;
  return sdk;
}

const pause = (milliseconds) => new Promise((done) => setTimeout(done, milliseconds));

async function waitFor(status, retrieve) {
  const deadline = Date.now() + 100_000;
  for (;;) {
    const stream = await retrieve();
    if (stream.status === status) return stream;
    if (Date.now() > deadline) throw new Error(`still ${stream.status}, not ${status}`);
    await pause(200);
  }
}

async function collect(list) {
  const all = [];
  for await (const one of list) all.push(one);
  return all;
}

async function main() {
  const sdk = connect(process.env.SECRET);
  const started = await sdk.externalStreams.start(room, { rtmp_urls: [url], recording: true });
  const retrieve = () => sdk.externalStreams.retrieve(started.id);
  const running = await waitFor("running", retrieve);
  // So that there is something in the file.
  await pause(3000);
  const stopping = await sdk.externalStreams.stop(started.id);
  const completed = await waitFor("completed", retrieve);
  const streams = await collect(sdk.externalStreams.list({ room_id: room }));
  const assets = await collect(sdk.recordingAssets.list({ room_id: room }));
  const link = await sdk.recordingAssets.generatePreSignedURL(assets[0].id);
  const refusal = (call) => call.then(() => null, (error) => error.code);
  const missing = await refusal(sdk.externalStreams.retrieve("missing"));
  const stranger = await refusal(connect("another secret").externalStreams.retrieve(started.id));
  console.log(JSON.stringify({
    statuses: [started, running, stopping, completed].map((stream) => stream.status),
    hasDates: running.created_at instanceof Date && completed.stopped_at instanceof Date,
    isListed: streams.map((stream) => stream.id).includes(started.id), assets: assets.length, link: link.url, missing, stranger,
  }));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
