@a
A
+
I
>b
A
