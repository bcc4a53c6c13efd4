import Foundation
import TestSupport
import Testing

/// The pages behind a reverse proxy that has the service below a path, as `deploy/README.md` configures it.
@Suite(.serialized, .enabled(if: Browser.executable != nil, "chromium is not installed: run deploy/setup.sh --tests"))
struct BelowAPathTests {
    /// Starts nginx in front of a service. Returns it, and the service's URL there.
    private static func proxy(of port: Int, in stage: URL) async throws -> (process: ManagedProcess, place: String) {
        let own = HookingMediaServer.anyPort()
        let directory = stage.appendingPathComponent("proxy")
        try FileManager.default.createDirectory(
            at: directory.appendingPathComponent("tmp"), withIntermediateDirectories: true)
        let location = try HookingMediaServer.snippet("nginx", of: "deploy/README.md")
            .replacing("127.0.0.1:8080", with: "127.0.0.1:\(port)")
        let configuration = """
            daemon off;
            master_process off;
            pid \(directory.path)/nginx.pid;
            events {}
            http { access_log off; client_body_temp_path tmp; proxy_temp_path tmp; fastcgi_temp_path tmp;
            uwsgi_temp_path tmp; scgi_temp_path tmp;
            server { listen 127.0.0.1:\(own);
            \(location)
            } }
            """
        let file = directory.appendingPathComponent("nginx.conf")
        try configuration.write(to: file, atomically: true, encoding: .utf8)
        let process = try ManagedProcess(
            "proxy", "/usr/sbin/nginx",
            ["-p", directory.path, "-e", directory.appendingPathComponent("error.log").path, "-c", file.path],
            in: stage)
        let client = ServiceClient(port: own)
        try await waitUntil("the proxy answers") {
            guard process.isRunning else { throw EndToEndError("nginx ended: \(process.messages())") }
            return (try? await client.request("GET", "/live-rooms/healthz").status) == 200
        }
        return (process, "http://127.0.0.1:\(own)/live-rooms")
    }

    @Test(.timeLimit(.minutes(6))) func everyPageFindsItsService() async throws {
        try await ControlStage.run { stage in
            let (proxy, place) = try await Self.proxy(of: stage.client.port, in: stage.directory)
            try await stage.makeRoom("show")
            let comment = #"{"text": "Hello", "user": "vera", "name": "Vera"}"#
            #expect(
                try await stage.client.request("POST", "/v1/rooms/show/messages", json: comment).status == 201)
            for (path, sign) in [
                ("watch/show", "document.querySelector('room-chat li')"),
                ("watch/show/", "document.querySelector('room-chat li')"),
                ("publish/show", #"document.querySelector('#watch[href="/live-rooms/watch/show"]')"#),
                ("embed/show", "document.querySelector('h1')?.textContent === 'show'"),
                ("console/#/rooms", "document.querySelector('.card')"),
                ("console#/rooms/show", #"document.querySelector('a[href="/live-rooms/watch/show"]')"#),
                ("console#/service", #"document.querySelector('a[href="/live-rooms/metrics"]')"#),
            ] {
                let page = try await BrowserPage.open("\(place)/\(path)", in: stage.directory)
                try await page.wait(for: sign)
                try await page.waitUntilShown()
                #expect(await page.complaints == [], "\(path)")
                await page.close()
            }
            await proxy.stop()
        }
    }

    /// The second publisher takes the stream over, which the first one learns from its session at the service.
    @Test(.timeLimit(.minutes(6))) func publishersAndViewersFindTheirSessions() async throws {
        let environment = [
            "MIXORCHESTRATOR_INGEST_RTMP_LISTEN": "127.0.0.1:\(HookingMediaServer.anyPort())",
            "MIXORCHESTRATOR_WEBRTC_WHIP": "on", "MIXORCHESTRATOR_WEBRTC_WHEP": "on",
            // The proxy's clients do not count as local.
            "MIXORCHESTRATOR_WEBRTC_PRIVATE_ADDRESSES": "all",
        ]
        try await Stage.run(environment: environment) { stage in
            let (proxy, place) = try await Self.proxy(of: stage.client.port, in: stage.directory)
            try await stage.makeRoom()
            let browser = Browser(directory: stage.directory)
            let publish = "\(place)/publish/\(stage.room)#user=alice&live=1&figures=1"
            let first = try await browser.publish(publish)
            for fragment in ["#figures", "#webrtc&figures"] {
                let watch = try await browser.watch("\(place)/watch/\(stage.room)\(fragment)", pictures: 20)
                await watch.stop()
            }
            let second = try await browser.publish(publish)
            try await Browser.wait(for: "another publisher has taken over this stream key", at: first)
            for page in [first, second] { await page.stop() }
            await proxy.stop()
        }
    }
}
