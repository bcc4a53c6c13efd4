import MixModel
import TestSupport
import Testing

@testable import EventSubscription

/// Statistics of media servers, in the form in which their source code writes them.
@Suite struct StreamInventoryTests {
    private static func url(_ text: String) throws -> StreamURL { try StreamURL(text) }

    private func read(
        _ inventory: any StreamInventory, _ text: String, _ url: String = "http://127.0.0.1:8080/stat"
    ) throws -> InventoryPage {
        try inventory.page(Array(text.utf8), of: StreamURL(url))
    }

    private static let nginx = """
        <?xml version="1.0" encoding="utf-8" ?>
        <?xml-stylesheet type="text/xsl" href="/stat.xsl" ?>
        <rtmp><nginx_version>1.22.1</nginx_version><nginx_rtmp_version>1.1.4</nginx_rtmp_version><pid>7</pid>
        <server>
        <application><name>live</name><live>
        <stream><name>lobby__alice</name><time>1000</time><bw_in>8</bw_in>
        <client><id>9</id><address>127.0.0.1</address><time>7</time><active/></client>
        <client><id>7</id><address>127.0.0.1</address><flashver>FMLE/3.0 &amp; &lt;x&gt;</flashver><publishing/><active/></client>
        <meta><video><width>1280</width></video></meta><nclients>2</nclients><publishing/><active/></stream>
        <stream><name>a&amp;b &#x41;</name><client><id>12</id><publishing/></client></stream>
        <stream><name>only watched</name><client><id>3</id></client><nclients>1</nclients></stream>
        <nclients>3</nclients></live></application>
        <application><name>cdn</name><live><stream><name>lobby__bob</name>
        <client><id>13</id><publishing/></client></stream></live></application>
        <application><name>empty</name></application>
        </server></rtmp>
        """

    @Test func nginxListsPublishers() throws {
        let page = try read(NginxRTMPInventory(), Self.nginx)
        #expect(
            page.streams == [
                MediaServerStream(app: "live", name: "lobby__alice", session: "7"),
                MediaServerStream(app: "live", name: "a&b A", session: "12"),
                MediaServerStream(app: "cdn", name: "lobby__bob", session: "13"),
            ])
        #expect(page.isLast)
    }

    /// An unexpected answer does not end streams.
    @Test(arguments: [
        "", "<rtmp></rtmp>", "<rtmp><server></server></rtmp>", "<html><body>404</body></html>", "{}", "no",
        "<!DOCTYPE rtmp [<!ENTITY a 'b'>]><rtmp/>", "<rtmp><server><application></server></rtmp>", "<rtmp",
        "<x><server><application/></server></x>", String(nginx.dropLast(20)),
    ]) func whatNginxNeverSendsIsRefused(_ text: String) {
        #expect(throws: InputError.self) { try read(NginxRTMPInventory(), text) }
    }

    @Test func srsListsPublishers() throws {
        let body = #"""
            {"code":0,"server":"vid-k21d7y2","service":"9t3k2h8","pid":"1","streams":[
            {"id":"vid-1","name":"lobby__alice","vhost":"vid-9","app":"live","tcUrl":"rtmp://127.0.0.1/live",
             "url":"/live/lobby__alice","live_ms":1,"clients":1,"publish":{"active":true,"cid":"9308h583"},"video":null},
            {"id":"vid-2","name":"gone","vhost":"vid-9","app":"live","url":"/live/gone","publish":{"active":false}},
            {"id":"vid-3","name":"x","vhost":"vid-8","app":"a","url":"live.example/a/x","publish":{"active":true,"cid":"c"}}]}
            """#
        let page = try read(SRSInventory(), body)
        #expect(
            page.streams == [
                MediaServerStream(app: "live", name: "lobby__alice", session: "9308h583"),
                MediaServerStream(vhost: "live.example", app: "a", name: "x", session: "c"),
            ])
        #expect(page.isLast)
        let inventory = SRSInventory()
        let url = try Self.url("http://127.0.0.1:1985/api/v1/streams")
        #expect(inventory.url(ofPage: 2, of: url) == "http://127.0.0.1:1985/api/v1/streams/?start=200&count=100")
        let whole = try Self.url("http://127.0.0.1:1985/api/v1/streams/?a=b")
        #expect(inventory.url(ofPage: 0, of: whole) == "http://127.0.0.1:1985/api/v1/streams/?a=b&start=0&count=100")
        let full = (0..<100).map { #"{"name":"s\#($0)","publish":{"active":false}}"# }.joined(separator: ",")
        #expect(try !read(inventory, #"{"code":0,"streams":[\#(full)]}"#).isLast)
        for text in ["", #"{"code":1}"#, #"{"code":0}"#, #"{"streams":[]}"#, "[]"] {
            #expect(throws: InputError.self) { try read(inventory, text) }
        }
    }

    @Test func mediaMTXListsReadyPaths() throws {
        let body = #"""
            {"itemCount":3,"pageCount":1,"items":[
            {"name":"live/lobby__alice","confName":"all_others","source":{"type":"rtmpConn","id":"5a1f"},"ready":true,
             "readyTime":"2026-01-31T12:00:00Z","tracks":["H264"],"bytesReceived":1,"bytesSent":2,"readers":[]},
            {"name":"live/waiting","confName":"x","source":null,"ready":false,"readers":[]},
            {"name":"shop/lobby/bob","source":{"type":"rtspSession","id":"77"},"available":true}]}
            """#
        let page = try read(MediaMTXInventory(), body)
        #expect(
            page.streams == [
                MediaServerStream(app: "live", name: "lobby__alice", session: "5a1f"),
                MediaServerStream(vhost: "shop", app: "lobby", name: "bob", session: "77"),
            ])
        #expect(page.isLast)
        let url = try Self.url("http://127.0.0.1:9997/v3/paths/list")
        #expect(
            MediaMTXInventory().url(ofPage: 1, of: url) == "http://127.0.0.1:9997/v3/paths/list?page=1&itemsPerPage=100"
        )
        let full = (0..<100).map { #"{"name":"a/s\#($0)","ready":true}"# }.joined(separator: ",")
        #expect(try !read(MediaMTXInventory(), #"{"itemCount":101,"pageCount":2,"items":[\#(full)]}"#).isLast)
        for text in ["", "{}", #"{"status":"error","error":"authentication error"}"#] {
            #expect(throws: InputError.self) { try read(MediaMTXInventory(), text) }
        }
    }

    @Test func ovenMediaEngineListsAnApplication() throws {
        let url = "http://127.0.0.1:8081/v1/vhosts/default/apps/app/streams"
        let page = try read(
            OvenMediaEngineInventory(), #"{"message":"OK","response":["lobby__alice","b"],"statusCode":200}"#, url)
        #expect(
            page.streams == [
                MediaServerStream(app: "app", name: "lobby__alice"), MediaServerStream(app: "app", name: "b"),
            ])
        for text in ["", "{}", #"{"message":"[HTTP] Authorization failed","statusCode":401}"#] {
            #expect(throws: InputError.self) { try read(OvenMediaEngineInventory(), text, url) }
        }
        #expect(throws: InputError.self) {
            try read(OvenMediaEngineInventory(), #"{"response":[],"statusCode":200}"#, "http://127.0.0.1:8081/v1")
        }
    }

    @Test func everyInventoryBelongsToAHook() {
        for inventory in StreamInventories.all {
            #expect(EventHooks.all.contains { $0.name == inventory.hook }, "\(inventory.hook)")
        }
        #expect(Set(StreamInventories.all.map(\.hook)).count == StreamInventories.all.count)
    }

    @Test func hostileBytesDoNoHarm() throws {
        var random = SeededGenerator(announcedFor: "hostile statistics")
        let valid = [
            Self.nginx, #"{"code":0,"streams":[{"name":"a","publish":{"active":true}}],"items":[],"pageCount":1}"#,
        ]
        .map { Array($0.utf8) }
        let url = try Self.url("http://127.0.0.1:8081/v1/vhosts/default/apps/app/streams")
        var taken = 0
        for _ in 0..<5_000 {
            let bytes = HostileBytes.any(valid, using: &random)
            for inventory in StreamInventories.all where (try? inventory.page(bytes, of: url)) != nil { taken += 1 }
        }
        #expect(taken > 100)
    }

    @Test func longXMLIsCheapAndBounded() throws {
        let stream = "<stream><name>a__b</name><client><id>1</id><publishing/></client></stream>"
        let many =
            "<rtmp><server><application><name>live</name><live>"
            + String(repeating: stream, count: 4_000) + "</live></application></server></rtmp>"
        let hostile = [
            String(repeating: "<a>", count: 60_000), String(repeating: "&amp;", count: 40_000),
            "<rtmp>" + String(repeating: "<!---->", count: 20_000), "<rtmp>" + String(repeating: "&", count: 100_000),
            "<rtmp>" + String(repeating: "<![CDATA[]]", count: 20_000), "<" + String(repeating: "a", count: 200_000),
        ]
        let start = ContinuousClock.now
        #expect(try read(NginxRTMPInventory(), many).streams.count == 4_000)
        for text in hostile { #expect(throws: InputError.self) { try read(NginxRTMPInventory(), text) } }
        #expect(ContinuousClock.now - start < .seconds(30))
    }
}
