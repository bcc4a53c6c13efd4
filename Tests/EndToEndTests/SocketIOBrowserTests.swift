import Foundation
import TestSupport
import Testing

/// Socket.IO's own client for browsers, unchanged, in Chromium, in a page of another site.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct SocketIOBrowserTests {
    private struct Visit: Decodable {
        /// The transport at the end of the visit.
        var transport: String
        /// Acknowledgements in the order of the calls; the value is `ok`.
        var answers: [Bool]
        /// Events that the viewer received, as `event text`.
        var seen: [String]
        var rooms: String
    }

    /// A page with a host and a viewer, each with a separate connection. `transports` is the client's own option.
    private static let page = """
        <!doctype html><script src="socket.io.min.js"></script><script>
        async function visit(address, room, transports) {
          const open = () => new Promise((resolve, reject) => {
            const socket = io(address, { transports, forceNew: true, reconnection: false });
            socket.on("connect", () => resolve(socket));
            socket.on("connect_error", reject);
          });
          const until = async condition => { while (!condition()) await new Promise(resolve => setTimeout(resolve, 20)); };
          const [host, viewer] = [await open(), await open()], seen = [], answers = [];
          viewer.on("comment", one => seen.push(`comment ${one.text}`));
          viewer.on("upvote", one => seen.push(`upvote ${one.count}`));
          viewer.on("gift", one => seen.push(`gift ${one.giftId}`));
          viewer.on("room_closed", () => seen.push("room_closed"));
          const call = async (socket, event, argument) => { answers.push((await socket.timeout(60000).emitWithAck(event, argument)).ok); };
          await call(host, "create_room", { key: room, title: "My show" });
          await call(viewer, "join_room", room);
          if (transports.length > 1) await until(() => viewer.io.engine.transport.name === "websocket");
          const { name: transport } = viewer.io.engine.transport;
          const rooms = await (await fetch(`${address}/rooms`)).text();
          await call(host, "comment", { roomKey: room, text: "Hello 👋 \\u4f60\\u597d" });
          await until(() => seen.length === 1);
          await call(host, "upvote", room);
          await until(() => seen.length === 2);
          await call(host, "gift", { roomKey: room, senderId: 7, giftId: 2, giftCount: 3 });
          await until(() => seen.length === 3);
          await call(viewer, "close_room", room);
          await call(host, "close_room", room);
          await until(() => seen.includes("room_closed"));
          host.disconnect();
          viewer.disconnect();
          return { transport, answers, seen, rooms };
        }
        </script>
        """

    @Test(.timeLimit(.minutes(6))) func theClientOfBrowsersWorksUnchanged() async throws {
        try await ControlStage.run(environment: ["MIXORCHESTRATOR_SOCKETIO_CORS": "*"]) { stage in
            let directory = stage.directory
            let script = Workspace.root.appendingPathComponent("scripts/socketio-browser.sh").path
            let fetching = try ManagedProcess("socketio-browser", script, [], in: directory)
            try await waitUntil("the client is there\n\(fetching.messages())", within: 120) { !fetching.isRunning }
            #expect(fetching.exitStatus == 0, "\(fetching.messages())")
            let client = try #require(fetching.messages().split(separator: "\n").last.map(String.init))
            try FileManager.default.copyItem(
                atPath: client, toPath: directory.appendingPathComponent("socket.io.min.js").path)
            let file = directory.appendingPathComponent("site.html")
            try Self.page.write(to: file, atomically: true, encoding: .utf8)
            let page = try await BrowserPage.open(file.absoluteString, in: directory)
            try await page.wait(for: "window.io && window.visit")
            let address = "http://127.0.0.1:\(stage.client.port)"
            for (transports, last) in [
                (#"["polling"]"#, "polling"), (#"["websocket"]"#, "websocket"),
                (#"["polling", "websocket"]"#, "websocket"),
            ] {
                let room = "room-\(UInt32.random(in: 0 ... .max))"
                let visit: Visit = try await page.evaluate(#"visit("\#(address)", "\#(room)", \#(transports))"#)
                #expect(visit.transport == last)
                // A room can only be closed by the user who opened it.
                #expect(visit.answers == [true, true, true, true, true, false, true], "\(visit)")
                #expect(
                    visit.seen == ["comment Hello 👋 你好", "upvote 1", "gift 2", "room_closed"], "\(visit)")
                #expect(visit.rooms.contains(room) && visit.rooms.contains("My show"), "\(visit)")
            }
            #expect(await page.complaints == [])
            await page.close()
        }
    }
}
