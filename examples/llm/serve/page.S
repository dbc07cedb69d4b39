    .section .rodata
    .global page_html
page_html:
    .incbin "examples/llm/serve/page.html"
page_end:
    .byte 0
    .balign 8
    .global page_bytes
page_bytes:
    .quad page_end - page_html
    .section .note.GNU-stack,"",@progbits
