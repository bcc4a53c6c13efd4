import Testing

@testable import LayoutEngine

struct PageAddressTests {
    @Test(arguments: [
        "http://a", "https://a.example/b?c=d#e", "HTTPS://A.example:8443/", "https://user:word@a.example/b",
        "https://a/" + String(repeating: "x", count: 2038),
    ])
    func addresses(text: String) { #expect(PageAddress(text)?.text == text) }

    @Test(arguments: [
        "", "a.example", "ftp://a.example", "https://", "https:///b", "https://?a", "https://@a", "http://a b",
        "http://a\u{7f}", "http://\u{e9}.example", "http:/\u{338}/a", "javascript:alert(1)", "data:text/html,x",
        "https://a/" + String(repeating: "x", count: 2039),
    ])
    func whatIsNone(text: String) { #expect(PageAddress(text) == nil) }

    @Test(arguments: [
        ("https://user:word@a.example/b?key=1#c", "https://a.example/b"), ("http://a?x=/b", "http://a"),
        ("https://a.example/@b", "https://a.example/@b"), ("https://a:1@b@c.example", "https://c.example"),
        ("http://a#/@b", "http://a"),
    ])
    func secretsAreNotShown(text: String, shown: String) { #expect(PageAddress(text)?.shown == shown) }

    @Test func placesOfPicturesAreAddedToEveryPage() throws {
        let text = """
            {"overlays": [{"page": "https://a.example/1", "x": 0, "y": 0.5, "width": 1, "height": 0.25},
                          {"text": "A", "place": "top"}],
             "arrangements": [{"when": {"people": 1}, "algorithm": "solo"}, {"algorithm": "grid", "overlays": [
                {"page": "http://b/", "x": 0, "y": 0, "width": 1, "height": 1}]}]}
            """
        let template = try LayoutTemplate.decode(Array(text.utf8), name: "pages").resolvingPages {
            "/p/\($0.text.utf8.count)"
        }
        #expect(template.hasPages)
        let canvas = Canvas(width: 640, height: 360, fps: 20)
        let shown = template.arrangements.map { $0.settings.overlays.map { $0.overlay(on: canvas).content } }
        let (one, two) = (try #require(PageAddress("https://a.example/1")), try #require(PageAddress("http://b/")))
        #expect(shown[0].first == .page(one, picture: "/p/19-640x90.png"))
        #expect(shown[1] == [.page(two, picture: "/p/9-640x360.png")])
        let none = try LayoutTemplate.decode(Array(text.utf8), name: "pages").resolvingPages { _ in nil }
        #expect(none.arrangements[1].settings.overlays[0].overlay(on: canvas).content == .page(two, picture: nil))
    }
}
